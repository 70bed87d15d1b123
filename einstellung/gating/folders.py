"""Predictions of the runs in a results folder: one method, one or several seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from einstellung.diagnoses.reporting import diagnosis_of
from einstellung.errors import InputError
from einstellung.gating.predictions import CLEAN, COVERED, CUE, Predictions, of_frame
from einstellung.registry import suggestion
from einstellung.results.config import StudyConfig
from einstellung.results.folder import ResultsFolder
from einstellung.results.run_files import read_prediction_file, run_folder
from einstellung.timeline import NSC, SC_CLEAN, SC_MASK, SC_PATCH

CONDITION_OF = {SC_PATCH: CUE, SC_MASK: COVERED, SC_CLEAN: CLEAN, NSC: CLEAN}


def read_results_folder(
    path: Path, method: str | None = None, seeds: Sequence[int] = (), baseline: bool = False
) -> Predictions:
    """The predictions of a method at the checkpoint that its study scores.

    ``method`` None: the study's own baseline with ``baseline``, otherwise the only method besides it. Test images of the
    shortcut classes are ``cue`` and ``covered``; their unpainted versions and the other classes' images are ``clean``.
    """
    config = _config(path)
    chosen = _baseline(config) if baseline and method is None else _method(path, config, method)
    if absent := [seed for seed in seeds if seed not in config.seeds]:
        there = ", ".join(map(str, config.seeds))
        raise InputError(f"--seed names {absent[0]}, which {path} does not have; there are {there}")
    parts = [_run(path, config, chosen, seed) for seed in (seeds or config.seeds)]
    present = [part for part in parts if part is not None]
    if not present:
        raise InputError(
            f"{path} holds no predictions.csv of '{chosen}': run the study first, or name another --method"
        )
    return of_frame(pd.concat(present, ignore_index=True), f"{path} ({chosen})")


def _config(path: Path) -> StudyConfig:
    folder = ResultsFolder(path)
    if not folder.is_study:
        studies = sorted(file.parent.name for file in path.glob("*/config.yaml"))
        if studies:
            raise InputError(f"{path} holds several studies: give one of them, e.g. {path / studies[0]}")
    return folder.config()


def _baseline(config: StudyConfig) -> str:
    diagnosis = diagnosis_of(config, [SC_PATCH, SC_MASK])
    return str(config.score.get("baseline") or diagnosis.baseline_among(config.methods, len(config.training.epochs)))


def _method(path: Path, config: StudyConfig, method: str | None) -> str:
    if method is not None:
        if method not in config.methods:
            raise InputError(f"{path} has no method '{method}': {suggestion(method, config.methods)}")
        return method
    besides = [name for name in config.methods if name != _baseline(config)]
    if len(besides) != 1:
        raise InputError(f"{path} holds several methods ({', '.join(config.methods)}): choose one with --method")
    return besides[0]


def _run(path: Path, config: StudyConfig, method: str, seed: int) -> pd.DataFrame | None:
    file = run_folder(path, (method, seed)) / "predictions.csv"
    if config.score.get("final") == "last" and (last := file.with_name("predictions_last.csv")).exists():
        file = last
    if not file.exists():
        return None
    try:
        frame = read_prediction_file(file)
    except InputError as error:
        raise InputError(f"{file} {error}") from None
    conditions = _conditions(list(frame["split"].unique()), config.score.get("phase"))
    rows = frame[frame["split"].isin(list(conditions))]
    if rows.empty:
        raise InputError(f"{file} has none of the splits {', '.join(conditions)}: the gate needs a cue that is covered")
    shown = rows.rename(columns={"index": "id"})
    return shown.assign(condition=rows["split"].map(conditions), seed=seed).drop(columns="split")


def _conditions(splits: Sequence[str], phase: str | None) -> dict[str, str]:
    """The condition of every split: those of T2 or, in a stream of many phases, of ``phase``, by default the last with a cue."""
    ending = SC_MASK.removeprefix("T2")
    phases = [split.removesuffix(ending) for split in splits if split.endswith(ending)]
    shown = phase or (phases[-1] if phases else "T2")
    return {f"{shown}{split.removeprefix('T2')}": condition for split, condition in CONDITION_OF.items()}
