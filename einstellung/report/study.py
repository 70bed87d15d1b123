"""The report of a results folder: score its timelines, write its page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from einstellung.errors import InputError
from einstellung.experiments.config import to_yaml
from einstellung.experiments.folder import ResultsFolder
from einstellung.metrics.scorecard import score
from einstellung.report.writing import write_report


def report_study(results: ResultsFolder) -> tuple[dict[str, Any], Path]:
    """The scorecard and the path of the page. Runs that failed are among the warnings."""
    config, timeline = results.config(), results.merge_timelines()
    if timeline is None:
        raise InputError(f"{results.path} holds no finished run yet")
    card = score(timeline, config.score.settings()).to_dict()
    card["warnings"] = [*results.failures(), *card["warnings"]]
    page = write_report(
        results.path,
        timeline,
        card,
        proof=results.read_optional(results.proof_file),
        provenance=results.read_optional(results.provenance_file),
        configuration=to_yaml(config),
        samples=results.samples_file if results.samples_file.exists() else None,
        title=f"Einstellung report: {config.name}",
    )
    return card, page
