"""The guide's files in addition to ours: a folder per run under its plain name, and statistics over all of them.

    derpp_resnet18_seed42/detailed_results.json, einstellung_final_results.json, attention_analysis.json
    comprehensive_results.json

They are views of a results folder, rewritten on request. A run of another configuration with the same plain name replaces the
view; the run itself stays in its own results folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from einstellung.diagnoses.rigidity.attention import attention_of_run, attention_summary
from einstellung.errors import InputError
from einstellung.files import read_json, write_json
from einstellung.guide.calculator import TASKS, EinstellungMetrics
from einstellung.guide.comprehensive import STUDIES, comprehensive_results, guide_settings
from einstellung.guide.debug import debug_warnings, is_debug
from einstellung.guide.score import guide_score
from einstellung.results.attention_files import AttentionRun, read_attention
from einstellung.results.folder import ResultsFolder
from einstellung.results.merging import merge_timelines
from einstellung.results.run_files import run_folder
from einstellung.timeline import Timeline

DETAILED, FINAL, ATTENTION = "detailed_results.json", "einstellung_final_results.json", "attention_analysis.json"
COMPREHENSIVE = "comprehensive_results.json"
MARK = ".guide"  # in the root of the guide's command
_VERSIONS = ("code_version", "code_hash", "git_commit", "packages", "data")


def write_guide_files(
    results: ResultsFolder, into: Path, log: Callable[[str], None] = lambda line: print(line, file=sys.stderr)
) -> list[Path]:
    """Write the guide's files of every finished run of ``results`` into ``into``; their paths, the statistics last.

    ``log`` receives a line for every view that showed another run before. Foreign files with these names are refused before
    anything is written.
    """
    timeline = merge_timelines(results)
    if timeline is None:
        raise InputError(f"{results.path} has no finished run yet")
    views = list(_views(results, timeline, into))
    lines = [line for view in views if (line := view.taken_over()) is not None]
    comprehensive = comprehensive_results(results, into)
    written = [path for view in views for path in view.write()]
    written.append(write_json(into / COMPREHENSIVE, comprehensive))
    for line in lines:
        log(line)
    return written


def guide_place(results: ResultsFolder) -> Path:
    """The folder of a study's guide files: the root of the guide's command, or the study's own folder."""
    study, root = results.path, results.path.parent.parent
    return root if study.parent.name == STUDIES and (root / MARK).exists() else study


@dataclass(frozen=True)
class _View:
    """One run as the guide shows it."""

    folder: Path
    detailed: dict[str, Any]

    @property
    def _origin(self) -> dict[str, Any]:
        origin: dict[str, Any] = self.detailed["origin"]
        return origin

    def taken_over(self) -> str | None:
        """A line if the folder showed another run until now; an error if its file is not ours."""
        file = self.folder / DETAILED
        if not file.exists():
            return None
        earlier = read_json(file)
        origin = earlier.get("origin") if isinstance(earlier, dict) else None
        if not isinstance(origin, dict) or "run_key" not in origin:
            raise InputError(f"{file} was not written by einstellung: move it away or choose another folder")
        if origin["run_key"] == self._origin["run_key"]:
            return None
        return (
            f"{self.folder.name} showed run {origin['run_key'][:8]} of {origin['study']} (which is kept) and now shows "
            f"{self._origin['run_key'][:8]} of {self._origin['study']}"
        )

    def write(self) -> Iterator[Path]:
        yield write_json(self.folder / DETAILED, self.detailed)
        who = {key: self.detailed["configuration"][key] for key in ("model", "backbone", "seed")}
        final = {**who, "final_metrics": self.detailed["final_metrics"], "origin": self._origin}
        yield write_json(self.folder / FINAL, final)
        analysis = self.detailed["attention_analysis"]
        if analysis is None:
            (self.folder / ATTENTION).unlink(missing_ok=True)  # it may be of a run that was shown here before
        else:
            yield write_json(self.folder / ATTENTION, {**who, **analysis, "origin": self._origin})


def _views(results: ResultsFolder, timeline: Timeline, into: Path) -> Iterator[_View]:
    config = results.config()
    whole, card = config.model_dump(mode="json"), guide_score(timeline, guide_settings(config))
    proof = results.read_optional(results.proof_file) or {}
    checks = [*proof.get("checks", ()), *(check.to_dict() for check in card.checks)]
    provenance = results.read_optional(results.provenance_file) or {}
    study = Path(os.path.relpath(results.path, into)).as_posix()
    attention, problems = read_attention(results.path, timeline.runs)
    shared = {key: value for key, value in whole.items() if key not in ("methods", "seeds", "learners")}
    for method, seed in timeline.runs:
        run = run_folder(results.path, (method, seed))
        status = results.read_optional(run / "status.json") or {}
        if not isinstance(status.get("key"), str):
            raise InputError(f"{run / 'status.json'} has no key: delete that folder to retrain the run")
        metrics = EinstellungMetrics.of(card.methods[method].per_seed[str(seed)], card.threshold).to_dict()
        configuration = {"model": method, "seed": seed, "learner": whole["learners"].get(method, {}), **shared}
        detailed = {
            "configuration": configuration,
            "timeline_data": timeline_data(timeline, method, seed),
            "final_metrics": {**metrics, "final": card.final},
            "attention_analysis": _analysis(attention.get((method, seed)), method, seed),
            "debug": is_debug(config),
            "origin": {
                "run_key": status["key"],
                "study": study,
                "run": run.relative_to(results.path).as_posix(),
                "chosen_epoch": status.get("chosen_epoch"),
                **{key: provenance.get(key) for key in _VERSIONS},
                "checks": checks,
                "warnings": [*debug_warnings(config), *card.warnings, *problems],
            },
        }
        yield _View(into / f"{method}_{config.backbone.name}_seed{seed}", detailed)


def timeline_data(timeline: Timeline, method: str, seed: int) -> list[dict[str, Any]]:
    """A run's measurements, one entry per moment, as :meth:`EinstellungMetricsCalculator.add_timeline_data` takes them.

    >>> import pandas as pd
    >>> rows = {"method": "sgd", "seed": 1, "phase": "T2", "epoch": 1, "split": "T1_all", "acc": 0.5, "loss": None, "n": 9}
    >>> timeline_data(Timeline(pd.DataFrame([rows])), "sgd", 1)
    [{'epoch': 1.0, 'task_id': 1, 'subset_accuracies': {'T1_all': 0.5}, 'subset_losses': {}}]
    """
    frame = timeline.frame
    own = frame[(frame["method"] == method) & (frame["seed"] == seed) & frame["phase"].isin(TASKS)]
    moments = []
    for _, rows in own.groupby(["phase", "epoch"]):
        losses = rows.dropna(subset=["loss"])
        moments.append(
            {
                "epoch": float(rows["epoch"].iloc[0]),
                "task_id": TASKS.index(rows["phase"].iloc[0]),
                "subset_accuracies": dict(zip(rows["split"], map(float, rows["acc"]), strict=True)),
                "subset_losses": dict(zip(losses["split"], map(float, losses["loss"]), strict=True)),
            }
        )
    return moments


def _analysis(run: AttentionRun | None, method: str, seed: int) -> dict[str, Any] | None:
    """Every attention reading of a run, and the summary at the end of T2; None if the run has no attention."""
    if run is None:
        return None
    whole = attention_summary({(method, seed): run})
    own = whole.methods[method]
    return {
        "at": whole.at,
        "rollout": own.per_seed[seed].model_dump(mode="json"),
        "why_undefined": dict(own.why_undefined),
        "readings": attention_of_run(run),
    }
