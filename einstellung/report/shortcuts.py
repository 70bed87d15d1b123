"""The report of a results folder that holds a study of several shortcuts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from einstellung.errors import InputError
from einstellung.experiments.config import to_yaml
from einstellung.experiments.folder import ResultsFolder
from einstellung.metrics.shortcuts import shortcut_score
from einstellung.metrics.shortcuts_settings import ShortcutSettings
from einstellung.report.published_shortcuts import with_reported
from einstellung.report.shortcuts_writing import write_shortcut_report
from einstellung.timeline import Timeline


def shortcut_card(results: ResultsFolder, timeline: Timeline) -> dict[str, Any]:
    """The card of a results folder: cues and correlations as its proof tells them; runs that failed are among the warnings."""
    config = results.config()
    facts = (results.read_optional(results.proof_file) or {}).get("facts") or {}
    card = shortcut_score(
        timeline,
        ShortcutSettings.of_score(config.score.settings()),
        cues=facts.get("cues"),
        correlations=facts.get("correlations"),
    )
    card["methods"] = {
        method: card["methods"][method] for method in config.methods if method in card["methods"]
    } | card["methods"]
    card["warnings"] = [*results.failures(), *card["warnings"]]
    return with_reported(card, config.model_dump(mode="json"))


def report_shortcuts(results: ResultsFolder) -> tuple[dict[str, Any], Path]:
    """The card of a results folder and the path of its page."""
    timeline = results.merge_timelines()
    if timeline is None:
        raise InputError(f"{results.path} holds no finished run yet")
    config = results.config()
    card = shortcut_card(results, timeline)
    page = write_shortcut_report(
        results.path,
        timeline,
        card,
        proof=results.read_optional(results.proof_file),
        provenance=results.read_optional(results.provenance_file),
        configuration=to_yaml(config),
        samples=results.samples_file if results.samples_file.exists() else None,
        title=f"Several shortcuts: {config.name}",
    )
    return card, page
