"""``score`` and ``load``: from logs, tables and folders to results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from einstellung.api.results import Result, Results
from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.registry import applies, get_diagnosis, recognise
from einstellung.diagnoses.reporting import (
    ScoredFamily,
    evidence_and_phase,
    evidence_of_logs,
    score_evidence,
    score_family,
    score_folder,
    score_sweep,
)
from einstellung.diagnoses.settings import parse_settings
from einstellung.diagnoses.stored import card_from_json
from einstellung.errors import InputError
from einstellung.hashes import read_sealed
from einstellung.results.family import family_file, read_family
from einstellung.results.folder import ResultsFolder
from einstellung.results.provenance import file_hashes, now, provenance
from einstellung.results.sweep import sweep_file
from einstellung.timeline import ImportOptions, Timeline
from einstellung.timeline.importing.options import read_mapping
from einstellung.timeline.reading import timeline_files

AnyPath = str | PathLike[str]


def score(
    source: AnyPath | pd.DataFrame | Iterable[AnyPath],
    *,
    diagnosis: str | None = None,
    methods: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    classes: int | None = None,
    wide: bool = False,
    map: Mapping[str, str] | AnyPath | None = None,
    method: str | None = None,
    seed: int | None = None,
    phase: str | None = None,
    epoch: float | None = None,
    run: str | None = None,
    steps_per_epoch: float | None = None,
    format: str | None = None,
    **settings: Any,
) -> Result:
    """Score logs: which methods adapt for the right reason?

    ``source``: a log file, a folder of them, several of either, or a DataFrame with the columns method, seed, phase, epoch,
    split, acc and, if known, loss and n.

    For logs in another form: ``wide``, the table has one column a metric; ``map``, what their columns are called here
    (``{"accuracy": "acc"}``, ``{"{split}/acc": "acc"}``) or a YAML file with it; ``method``, ``seed``, ``phase`` and ``epoch`` of
    all rows, where the log does not say; ``run``, what run names look like (``"{method}-seed{seed}"``); ``steps_per_epoch``, for
    logs without epochs; ``format``, where the file's name does not show it.

    ``diagnosis`` names the question (default: recognised by the splits); ``methods`` and ``seeds`` leave
    out other runs; ``classes`` is the size of the head. In a log that names more than two phases, ``phase`` is the one that
    verdicts are about (default: the last one with a cue). Other settings of the diagnosis, such as ``tau`` or ``baseline``, are
    keywords too.
    """
    options = ImportOptions(
        columns=map if isinstance(map, Mapping) else {},
        wide=wide,
        run=run,
        steps_per_epoch=steps_per_epoch,
        method=method,
        seed=seed,
        phase=phase,
        epoch=epoch,
        format=format,
    )
    if map is not None and not isinstance(map, Mapping):
        options = read_mapping(Path(map).expanduser(), options)
    given = {**settings, **({} if classes is None else {"classes": classes})}
    paths = None if isinstance(source, pd.DataFrame) else _paths(source)
    evidence, shown = evidence_and_phase(lambda chosen: _evidence(source, paths, chosen), options)
    name, record = _origin(paths, options)
    given |= {} if shown is None else {"phase": shown}
    evidence = evidence.only(_several("methods", methods, str), _several("seeds", seeds, int))
    found = recognise(evidence.timeline.splits)
    kind = found if diagnosis is None else get_diagnosis(diagnosis)
    if not applies(kind, evidence.timeline.splits):
        raise InputError(
            f"diagnosis='{kind.name}' does not apply to timelines of {found.topic}: leave it out, or give '{found.name}'"
        )
    parse_settings(kind.Settings, given, kind.name, "{}".format)  # names a wrong one as it was given
    return Result.of(name, score_evidence(kind, evidence, given), record)


def load(path: AnyPath) -> Result | Results:
    """Read a results folder, a sweep or a family of studies, a folder of logs, or the folder of an earlier report.

    Nothing is written. A sweep or a family becomes a mapping from the names of its studies to their results.
    """
    folder = Path(path).expanduser()
    if not folder.exists():
        raise InputError(f"{folder} does not exist")
    if folder.is_file():
        return _of_card(folder) if folder.suffix == ".json" else score(folder)
    if ResultsFolder(folder).is_study:
        return result_of_folder(ResultsFolder(folder))
    if sweep_file(folder).exists():
        return results_of_group(folder, score_sweep(folder))
    if family_file(folder).exists():
        return results_of_group(folder, score_family(folder, read_family(folder)))
    if (folder / "score.json").exists() and not _has_logs(folder):
        return _of_card(folder / "score.json")
    inside = sorted(one.name for one in folder.iterdir() if _is_study(one))
    if inside:
        raise InputError(f"{folder} holds studies ({len(inside)}): load one, such as '{folder / inside[0]}'")
    return score(folder)


def result_of_folder(results: ResultsFolder) -> Result:
    """The result of a study."""
    return Result.of(results.config().name, score_folder(results), results.read_if_whole(results.provenance_file))


def results_of_group(root: Path, family: ScoredFamily) -> Results:
    """The results of the studies in a sweep or a family."""
    studies = {}
    for name, scored in family.studies.items():
        folder = ResultsFolder(root / name)
        studies[name] = Result.of(name, scored, folder.read_if_whole(folder.provenance_file))
    return Results(root.name, studies, family.page)


def _paths(source: Any) -> list[Path]:
    if isinstance(source, str | PathLike):
        source = [source]
    if not isinstance(source, Iterable):
        raise InputError(f"a {type(source).__name__} cannot be scored: give a path, several paths or a DataFrame")
    return [Path(one).expanduser() for one in source]


def _evidence(source: Any, paths: Sequence[Path] | None, options: ImportOptions) -> Evidence:
    """The evidence in a DataFrame, or in log files."""
    if paths is None:
        return Evidence(Timeline.from_frame(source, options))
    return replace(evidence_of_logs(paths, options), source=" ".join(map(str, paths)))


def _origin(paths: Sequence[Path] | None, options: ImportOptions) -> tuple[str, dict[str, Any]]:
    """A name for what was scored, and the record of where it comes from."""
    if paths is None:
        return "a DataFrame", _record({})
    name = ", ".join(path.name for path in paths[:3]) + (", ..." if len(paths) > 3 else "")
    return name, _record(file_hashes(timeline_files(paths, options.format)))


def _record(digests: dict[str, str]) -> dict[str, Any]:
    return {**provenance("einstellung.score(...)", digests), "finished": now()}


def _several(key: str, given: Any, kind: type) -> list[Any] | None:
    if given is None:
        return None
    values = [given] if isinstance(given, str | int) else list(given)
    wrong = [value for value in values if not isinstance(value, kind)]
    if wrong or not values:
        what = "names" if kind is str else "whole numbers"
        raise InputError(f"{key} is {given!r}: give {what} in a list")
    return values


def _of_card(file: Path) -> Result:
    values = read_sealed(file)
    kind, card = card_from_json(values)
    return Result(file.parent.resolve().name, kind, card, None)


def _has_logs(folder: Path) -> bool:
    try:
        return bool(timeline_files([folder]))
    except InputError:
        return False


def _is_study(folder: Path) -> bool:
    names = ("config.yaml", "study.json", "sweep.yaml", "family.yaml")
    return folder.is_dir() and any((folder / name).exists() for name in names)
