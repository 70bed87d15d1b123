"""The report of a results folder that holds a study of several shortcuts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from einstellung.diagnoses.shortcuts.published import with_reported
from einstellung.diagnoses.shortcuts.score import shortcut_score
from einstellung.diagnoses.shortcuts.settings import ShortcutRule, ShortcutSettings
from einstellung.diagnoses.shortcuts.writing import write_shortcut_report
from einstellung.metrics.image_pairs import Predictions
from einstellung.report.card_report import report_folder
from einstellung.results.folder import ResultsFolder
from einstellung.results.run_files import read_predictions
from einstellung.timeline import Timeline


def shortcut_card(results: ResultsFolder, timeline: Timeline) -> dict[str, Any]:
    """The card of a results folder: cues and correlations as its proof tells them; runs that failed are among the warnings."""
    config = results.config()
    facts = (results.read_optional(results.proof_file) or {}).get("facts") or {}
    unread: list[str] = []

    def predictions(rule: ShortcutRule) -> Predictions:
        so = "there are no intervals over images"
        found, problems = read_predictions(results.path, timeline.runs, rule == "last", so)
        unread.extend(problems)
        return found

    card = shortcut_score(
        timeline,
        ShortcutSettings.of_score(config.score.settings()),
        cues=facts.get("cues"),
        correlations=facts.get("correlations"),
        predictions=predictions,
    )
    card["methods"] = {
        method: card["methods"][method] for method in config.methods if method in card["methods"]
    } | card["methods"]
    card["warnings"] = [*results.failures(), *card["warnings"], *unread]
    card["told_some"] = told_some(config.learners, card)
    return with_reported(card, config.model_dump(mode="json"))


def told_some(learners: Mapping[str, Mapping[str, Any]], card: Mapping[str, Any]) -> dict[str, list[str]]:
    """The methods that are told of some cues only, and of which.

    >>> card = {"methods": {"gdro": {}, "gdro~background": {}}, "cues": ["background", "co-object"]}
    >>> told_some({"gdro": {"cues": None}, "gdro~background": {"cues": ["background"]}}, card)
    {'gdro~background': ['background']}
    """
    told = {method: learners.get(method, {}).get("cues") for method in card["methods"]}
    return {method: list(cues) for method, cues in told.items() if cues and set(cues) < set(card["cues"])}


def report_shortcuts(results: ResultsFolder) -> tuple[dict[str, Any], Path]:
    """The card of a results folder and the path of its page."""
    return report_folder(results, shortcut_card, write_shortcut_report, "Several shortcuts")
