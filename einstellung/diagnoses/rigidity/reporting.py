"""The report of a results folder: score its timelines, write its page. The report of a sweep: of several such folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from einstellung.diagnoses.confounding.reporting import report_confounding
from einstellung.diagnoses.confounding.splits import is_confounding
from einstellung.diagnoses.rigidity.attention_summary import attention_summary
from einstellung.diagnoses.rigidity.per_image import per_image, per_image_checks
from einstellung.diagnoses.rigidity.published import is_papers_protocol
from einstellung.diagnoses.rigidity.reported import reported_numbers
from einstellung.diagnoses.rigidity.score import score
from einstellung.diagnoses.rigidity.sweep import write_sweep_report
from einstellung.diagnoses.shortcuts.reporting import report_shortcuts
from einstellung.diagnoses.shortcuts.splits import are_shortcuts
from einstellung.errors import InputError
from einstellung.files import read_json
from einstellung.guide.score import guide_score
from einstellung.report.writing import write_report
from einstellung.results.attention_files import read_attention
from einstellung.results.config import to_yaml
from einstellung.results.folder import ResultsFolder
from einstellung.results.run_files import find_pictures, read_predictions
from einstellung.results.sweep import folder_name, read_sweep


def report_study(results: ResultsFolder) -> tuple[dict[str, Any], Path]:
    """The scorecard and the path of the page. Runs that failed and files that cannot be read are among the warnings."""
    config, timeline = results.config(), results.merge_timelines()
    if timeline is None:
        raise InputError(f"{results.path} holds no finished run yet")
    if is_confounding(timeline):
        return report_confounding(results)
    if are_shortcuts(timeline.splits):
        return report_shortcuts(results)
    card = score(timeline, config.score.settings()).to_dict()
    runs = [(method, seed) for method in timeline.methods for seed in timeline.seeds(method)]
    predictions, unread = read_predictions(results.path, runs, last=card["final"] == "last")
    attention, unread_attention = read_attention(results.path, runs)
    card["warnings"] = [*results.failures(), *card["warnings"], *unread, *unread_attention]
    if predictions:
        card["per_image"] = per_image(predictions)
        card["checks"] += [check.to_dict() for check in per_image_checks(predictions, card)]
    if attention:
        card["attention"] = attention_summary(attention)
    if config.guide_files:
        card["guide"] = guide_score(timeline, config.score.settings()).to_dict()
    if is_papers_protocol(config.model_dump(mode="json")):
        card["reported"] = reported_numbers(card["methods"])
    page = write_report(
        results.path,
        timeline,
        card,
        proof=results.read_optional(results.proof_file),
        provenance=results.read_optional(results.provenance_file),
        configuration=to_yaml(config),
        samples=results.samples_file if results.samples_file.exists() else None,
        pictures=find_pictures(results.path, runs),
        attention=attention,
        title=f"Einstellung report: {config.name}",
    )
    return card, page


def report_sweep(root: Path) -> Path:
    """The page of a sweep, from the scores of its studies; values of earlier sweeps into the same folder are shown too."""
    sweep = read_sweep(root)
    scores = {folder_name(sweep.key, value): value for value in sweep.values}
    points = [
        (value, read_json(root / name / "score.json"))
        for name, value in scores.items()
        if (root / name / "score.json").exists()
    ]
    if not points:
        raise InputError(f"{root} holds no finished run yet")
    return write_sweep_report(root, sweep.key, points)
