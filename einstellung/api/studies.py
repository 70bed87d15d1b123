"""``run``: a study from Python, in a script or a notebook."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from einstellung.api.progress import OnProgress, display_by
from einstellung.api.results import Result, Results
from einstellung.api.scoring import AnyPath, result_of_folder, results_of_group
from einstellung.arguments import workers_from
from einstellung.diagnoses.reporting import common_diagnosis, report_family, report_study, score_family
from einstellung.errors import InputError
from einstellung.experiments.launcher import describe_failures
from einstellung.experiments.study import Outcome, Prepared, prepare_study, run_study
from einstellung.experiments.workers import arrange
from einstellung.guide.settings import translated, with_guide_keys, with_its_backbone
from einstellung.results.config import (
    StudyConfig,
    build_config,
    preset_names,
    read_config,
    read_preset,
    with_combinations_apart,
    with_value,
)
from einstellung.results.family import Family, check_family_root, read_family, write_family
from einstellung.results.folder import ResultsFolder, member_folder
from einstellung.results.sweep import SHARED_FIRST_PHASES

if TYPE_CHECKING:
    from einstellung.api.data import TwoPhaseData


def run(
    config: Mapping[str, Any] | AnyPath,
    *,
    out: AnyPath | None = None,
    workers: int | str | None = None,
    on_progress: OnProgress | None = None,
    stream: TwoPhaseData | Mapping[str, Any] | str | None = None,
    **overrides: Any,
) -> Result | Results:
    """Run a study and return its result; what is finished in ``out`` already is not run again.

    ``config``: a preset's name, a YAML file, or a dict of the same keys (``{"preset": "demo", "seeds": [1, 2]}``). ``overrides``
    change single settings: ``seeds=[1, 2]``, ``training={"epochs": 2}``. ``stream``: what to learn, as in a configuration, or the
    data that :func:`two_phase` made. ``out``: the results folder (default: ``results/NAME``). ``workers``: runs at a time, or
    "auto". ``on_progress(share, what)`` is called with the share of the work that is done; by default, progress goes to standard
    error.

    A configuration of several ``studies`` returns them by name.
    """
    values, where = _values(config)
    for key, value in {**overrides, **_stream_setting(stream)}.items():
        values = with_value(values, key, value)
    values = with_combinations_apart(with_guide_keys(values, _log))
    count = workers_from("workers", workers)
    family = Family.of(values, where)
    root = Path(out).expanduser() if out is not None else Path("results") / str(values.get("name", "study"))
    with ExitStack() as stack:
        stack.enter_context(ResultsFolder(root).in_use())
        if stream is not None and hasattr(stream, "stored_in"):
            if family:
                raise InputError(f"{where} describes several studies: data from Python need a single one")
            values = stack.enter_context(stream.stored_in(ResultsFolder(root), values))
        if family:
            return _run_family(family.studies(where), tuple(family.members), root, count, on_progress)
        return _run_study(build_config(values, where), root, count, on_progress)


def _values(config: Mapping[str, Any] | AnyPath) -> tuple[dict[str, Any], str]:
    """The settings as they were given, and their name in messages."""
    if isinstance(config, Mapping):
        values, where = dict(config), "the configuration"
        if "preset" in values:
            base = read_preset(str(values.pop("preset")))
            for key, value in values.items():
                base = with_value(base, key, value)
            values = base
    elif isinstance(config, str | PathLike):
        text = str(config)
        is_preset = text in preset_names() or not (Path(text).suffix or Path(text).exists())
        values, where = (read_preset(text), f"preset {text}") if is_preset else (read_config(Path(text)), text)
        values.setdefault("name", Path(text).stem)
    else:
        raise InputError(f"a {type(config).__name__} is no configuration: give a preset's name, a YAML file or a dict")
    return translated(with_its_backbone(values, ()), _log), where


def _stream_setting(stream: Any) -> dict[str, Any]:
    return {} if stream is None or hasattr(stream, "stored_in") else {"stream": stream}


def _run_study(config: StudyConfig, root: Path, workers: Any, on_progress: OnProgress | None) -> Result:
    results = ResultsFolder(root)
    prepared = _prepared(config, root)
    ready, arrangements = arrange({"": config}, {"": prepared}, root, "first_phases", workers, _log)
    outcome = run_study(ready[""], root, arrangements[""].workers, _CALL, make_display=display_by(on_progress))
    _report_failures([outcome])
    report_study(results)
    return result_of_folder(results)


def _run_family(
    studies: Mapping[str, StudyConfig], order: Sequence[str], root: Path, workers: Any, on_progress: OnProgress | None
) -> Results:
    check_family_root(root)
    outcomes = []
    with ExitStack() as held:
        for name in studies:
            held.enter_context(ResultsFolder(member_folder(root, name)).in_use())
        prepared = {name: _prepared(config, root / name) for name, config in studies.items()}
        common_diagnosis({name: study.diagnosis for name, study in prepared.items()}, "family")
        ready, arrangements = arrange(studies, prepared, root, SHARED_FIRST_PHASES, workers, _log)
        write_family(root, tuple(studies), order)
        for name, study in ready.items():
            count, display = arrangements[name].workers, display_by(on_progress, f"{name}: ")
            outcomes.append(run_study(study, root / name, count, _CALL, SHARED_FIRST_PHASES, display))
        _report_failures(outcomes)
        report_family(root, read_family(root))
    return results_of_group(root, score_family(root, read_family(root)))


_CALL = "einstellung.run(...)"


def _prepared(config: StudyConfig, folder: Path) -> Prepared:
    prepared = prepare_study(config, folder, about_to_run=True)
    prepared.proof.require()
    for warning in prepared.warnings:
        warnings.warn(warning, stacklevel=4)
    return prepared


def _report_failures(outcomes: Sequence[Outcome]) -> None:
    """An error where nothing is left to report, else a warning: the other runs are worth having."""
    lines, _ = describe_failures(failure for outcome in outcomes for failure in outcome.failures)
    if lines and all(outcome.timeline is None for outcome in outcomes):
        raise InputError(f"every run failed: {'; '.join(lines[:3])}")
    for line in lines:
        warnings.warn(line, stacklevel=4)


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
