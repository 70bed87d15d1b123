"""The report of a results folder that holds a study of confounded tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from einstellung.metrics.confounding import confounding_score
from einstellung.metrics.confounding_settings import ConfoundingSettings
from einstellung.report.card_report import report_folder
from einstellung.report.confounding_writing import write_confounding_report
from einstellung.report.published_confounding import with_reported
from einstellung.results.config import StudyConfig
from einstellung.results.folder import ResultsFolder
from einstellung.timeline import Timeline

NESY_BACKBONE = "set_transformer"
CEILING_FILE = "ceiling.json"  # left in a study's folder by the family it belongs to


def confounding_card(results: ResultsFolder, timeline: Timeline) -> dict[str, Any]:
    """The card of a results folder; runs that failed are among the warnings.

    Where the folder holds ``ceiling.json``, the verdicts are against that; else against each method's own tasks.
    """
    config = results.config()
    facts = (results.read_optional(results.proof_file) or {}).get("facts") or {}
    variant = facts.get("variant") or config.stream.options.get("variant")
    card = confounding_score(
        timeline,
        ConfoundingSettings.of_score(config.score.settings()),
        variant=variant,
        model=model_of(config),
        confounders=facts.get("confounders") or (),
        ground_truth=facts.get("ground_truth"),
        ceiling=results.read_optional(results.path / CEILING_FILE),
    )
    card |= {"sees": facts.get("input_modality"), "perceived": facts.get("perceived")}
    card["methods"] = {
        method: card["methods"][method] for method in config.methods if method in card["methods"]
    } | card["methods"]
    card["warnings"] = [*results.failures(), *card["warnings"]]
    return with_reported(card, config.model_dump(mode="json"))


def model_of(config: StudyConfig) -> str:
    """The paper's word for the kind of model: NeSy reasons over objects, NN sees pixels."""
    return "NeSy" if config.backbone.name == NESY_BACKBONE else "NN"


def report_confounding(results: ResultsFolder) -> tuple[dict[str, Any], Path]:
    """The card of a results folder and the path of its page."""
    return report_folder(results, confounding_card, write_confounding_report, "Confounded tasks")
