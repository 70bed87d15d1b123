"""Settings of the diagnosis of unknown cues: none of its own. What an audit looked for was set when it was made."""

from __future__ import annotations

from einstellung.diagnoses.settings import Settings


class AuditDiagnosisSettings(Settings):
    """The baseline is the one that the audit compared with."""
