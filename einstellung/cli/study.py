"""``run``, ``demo`` and ``validate``: studies."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from einstellung.arguments import add_data_location, names, whole_numbers, workers_from
from einstellung.boundary import Finished, say
from einstellung.cli.launching import Launching, launcher_options
from einstellung.cli.output import JSON, OUT, command_line, echo, print_json, show_reported
from einstellung.cli.parameters import PATH
from einstellung.cli.progress import report_progress
from einstellung.cli.view import VIEW, live_view
from einstellung.errors import InputError, ProblemList

if TYPE_CHECKING:
    from einstellung.cli.study_groups import StudyGroup
    from einstellung.experiments.machine import Workers
    from einstellung.experiments.study import Outcome
    from einstellung.results.config import StudyConfig
    from einstellung.results.family import Family
    from einstellung.results.folder import ResultsFolder

CONFIG = click.argument("config", required=False, type=PATH, metavar="[CONFIG.yaml]")
PRESET = click.option("--preset", help="Built-in configuration; see 'einstellung ls presets'.")
METHODS = click.option("--methods", help="Methods, separated by commas, instead of the configured ones.")
SEEDS = click.option("--seeds", help="Seeds, separated by commas, instead of the configured ones.")
SET = click.option(
    "--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Override a setting, e.g. cue.size=6."
)
DATA = click.option("--data", type=PATH, help="Folder with data sets.  [default: EINSTELLUNG_DATA, ./data]")
WORKERS = click.option(
    "--workers",
    metavar="N|auto",
    callback=lambda context, option, value: workers_from("--workers", value),
    help="Number of parallel runs; auto: chosen by a short measurement.  [default: cores / threads per run, 1 on a GPU]",
)

_REPORT_SECONDS = 10.0  # a first guess at how long scoring and figures take, on one core
_MARKS = {True: "ok  ", False: "FAIL", None: "--  "}  # of a check; None: it was not possible


@click.command()
@CONFIG
@PRESET
@METHODS
@SEEDS
@SET
@click.option(
    "--sweep",
    "sweeps",
    multiple=True,
    metavar="KEY=V,V,...",
    help="Run one study per value, e.g. cue.size=2,4,6,8; given twice, one per pair of values.",
)
@click.option("--only", metavar="NAME,NAME,...", help="Run only these studies, if the configuration has several.")
@DATA
@WORKERS
@launcher_options
@click.option("--dry-run", is_flag=True, help="Show the planned runs and how long they would take; needs no data.")
@VIEW
@OUT
@JSON
def run(
    config: Path | None,
    preset: str | None,
    methods: str | None,
    seeds: str | None,
    assignments: tuple[str, ...],
    sweeps: tuple[str, ...],
    only: str | None,
    data: Path | None,
    workers: Workers | None,
    launching: Launching,
    dry_run: bool,
    viewed: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run a study. Interrupted? Rerun the command to resume.

    Finished runs are not repeated.
    """
    from einstellung.cli.study_groups import FamilyGroup, SweepGroup
    from einstellung.results.config import build_config
    from einstellung.results.family import Family
    from einstellung.results.folder import ResultsFolder
    from einstellung.results.sweep import parse_sweeps

    add_data_location(data)
    values, where = _values(config, preset, methods, seeds, assignments, launching)
    sweep = parse_sweeps(sweeps)
    family = Family.of(values, where)
    if sweep and family:
        raise InputError(f"{where} has several studies: --sweep needs a single one")
    if only is not None and not family:
        raise InputError(f"{where} has a single study: leave out --only, which chooses among several")
    if family:
        chosen = family if only is None else family.some(names("--only", only), where)
        studies = _members(chosen, where, methods, seeds, assignments)
    else:
        studies = sweep.studies(values, where) if sweep else {"": build_config(values, where)}
    first = next(iter(studies.values()))
    root = out or Path("results") / (f"{first.name}-{sweep.label}" if sweep else values["name"])
    group: StudyGroup | None = None
    if sweep:
        group = SweepGroup(root, sweep)
    elif family:
        group = FamilyGroup(root, tuple(studies), tuple(family.members))
    if dry_run:
        _dry_run(root, studies, workers, group, as_json)
    elif group:
        _run_group(root, studies, workers, group, viewed, as_json)
    else:
        _study(first, ResultsFolder(root), workers, viewed, as_json)


@click.command()
@WORKERS
@launcher_options
@VIEW
@OUT
@JSON
def demo(workers: Workers | None, launching: Launching, viewed: bool, out: Path | None, as_json: bool) -> None:
    """See a report in a few minutes: one learner, with and without a history of the cue.

    Eight seeds on drawn shapes; needs no data.
    """
    from einstellung.cli.study_groups import SweepGroup
    from einstellung.results.sweep import Sweep

    values, where = _values(None, "demo", None, None, (), launching)
    sweep = Sweep("cue.habit", ("none", "same"))
    root = out or Path("results") / values["name"]
    _run_group(root, sweep.studies(values, where), workers, SweepGroup(root, sweep), viewed, as_json)


@click.command()
@CONFIG
@PRESET
@SET
@DATA
@click.option(
    "--data-map/--no-data-map", default=True, show_default=True, help="Also search the images of each phase for cues."
)
@JSON
def validate(
    config: Path | None,
    preset: str | None,
    assignments: tuple[str, ...],
    data: Path | None,
    data_map: bool,
    as_json: bool,
) -> None:
    """Check a configuration before a long run; nothing is kept.

    Checks every setting, proves the stream and trains one step of every method in every phase.
    """
    from einstellung.diagnoses.reporting import common_diagnosis
    from einstellung.diagnoses.wording import counted
    from einstellung.experiments.data_maps import describe_phase, phase_windows
    from einstellung.experiments.plan import plan
    from einstellung.experiments.study import prepare_study
    from einstellung.results.config import build_config
    from einstellung.results.family import Family

    add_data_location(data)
    values, where = _values(config, preset, None, None, assignments)
    family = Family.of(values, where)
    studies = _members(family, where, None, None, assignments) if family else {"": build_config(values, where)}
    shown: dict[str, dict[str, Any]] = {}
    kinds = {}
    for name, study in studies.items():
        prepared = prepare_study(study)
        kinds[name] = prepared.diagnosis
        proof = prepared.proof
        jobs = plan(prepared.config, prepared.stream)
        resolved = prepared.config.model_dump(mode="json")
        shown[name] = {
            "configuration": resolved,
            "proof": proof.to_dict(),
            "holds": proof.holds,
            "warnings": list(prepared.warnings),
        }
        _log_warnings(name, prepared.warnings)
        alone = phase_windows(prepared.stream) if data_map else {}
        if data_map:
            shown[name]["data_map"] = {
                phase: [row.model_dump(mode="json", by_alias=True) for row in rows] for phase, rows in alone.items()
            }
        if not as_json:
            if name:
                echo(f"{name}:")
            for check in proof.checks:
                echo(f"{_MARKS[check.passed]}  {check.name}: {check.detail}")
            for phase, rows in alone.items():
                stands_out = any(row.alarm for row in rows)
                echo(f"{'cue?' if stands_out else 'map '}  {describe_phase(phase, rows, prepared.stream.class_names)}")
            shared = sum(job.kind == "first_phase" for job in jobs)
            echo(f"{counted(len(jobs) - shared, 'run')} and {counted(shared, 'first phase')} to train")
            proof.require()
    if family:
        common_diagnosis(kinds, "family")
    if as_json:
        print_json({"studies": shown} if family else shown[""])
        for study_proof in (one for one in shown.values() if not one["holds"]):
            raise InputError(f"the stream '{study_proof['proof']['stream']}' fails its checks; nothing was trained")


def _values(
    path: Path | None,
    preset: str | None,
    methods: str | None,
    seeds: str | None,
    assignments: tuple[str, ...],
    launching: Launching | None = None,
) -> tuple[dict[str, Any], str]:
    """The configuration as given, and its name in messages."""
    from einstellung.guide.settings import translated, with_guide_keys, with_its_backbone
    from einstellung.results.config import read_config, read_preset, with_assignments

    if (path is None) == (preset is None):
        raise InputError("give either a CONFIG.yaml or --preset NAME; 'einstellung ls presets' lists the presets")
    where = str(path) if path else f"preset {preset}"
    values = read_preset(preset) if preset is not None else read_config(path or Path())
    values.setdefault("name", preset or (path or Path()).stem)
    problems = ProblemList(f"{where}: ")
    with problems.collecting():
        values = translated(with_its_backbone(values, assignments), _log)
    problems.raise_any()
    if launching is not None:
        values = launching.named(values)
    values = with_guide_keys(with_assignments(values, assignments), _log)
    if methods is not None:
        values["methods"] = names("--methods", methods)
    if seeds is not None:
        values["seeds"] = whole_numbers("--seeds", seeds)
    if launching is not None:
        values = launching.applied(values)
    return values, where


def _study(config: StudyConfig, results: ResultsFolder, workers: Workers | None, viewed: bool, as_json: bool) -> None:
    from einstellung.diagnoses.reporting import report_study
    from einstellung.experiments.study import prepare_study, run_study
    from einstellung.experiments.workers import arrange

    with results.in_use(), live_view(results.path, viewed):
        prepared = prepare_study(config, results.path, about_to_run=True)
        prepared.proof.require()
        _log_warnings("", prepared.warnings)
        ready, arrangements = arrange({"": config}, {"": prepared}, results.path, "first_phases", workers, _log)
        count = arrangements[""].workers
        outcome = run_study(ready[""], results.path, count, command_line(), closing=_REPORT_SECONDS)
        _log_reused(outcome)
        if outcome.timeline is not None:
            with report_progress():
                reported = report_study(results)
            show_reported(reported, as_json)
    _exit_on_failures([outcome])


def _members(
    family: Family, where: str, methods: str | None, seeds: str | None, assignments: tuple[str, ...]
) -> dict[str, StudyConfig]:
    """The studies of a family; methods and seeds from the command line override those of each."""
    asked: dict[str, Any] = {}
    if methods is not None:
        asked["methods"] = family.common["methods"]
    if seeds is not None:
        asked["seeds"] = family.common["seeds"]
    return family.studies(where, assignments, asked)


def _run_group(
    root: Path,
    studies: dict[str, StudyConfig],
    workers: Workers | None,
    group: StudyGroup,
    viewed: bool,
    as_json: bool,
) -> None:
    """Run one study after the other, each in its folder below ``root``; equal first phases are shared."""
    from einstellung.diagnoses.reporting import report_study
    from einstellung.experiments.study import prepare_study, run_study
    from einstellung.experiments.workers import arrange
    from einstellung.results.folder import ResultsFolder, member_folder
    from einstellung.results.sweep import SHARED_FIRST_PHASES, with_choices_of_existing

    outcomes, closing = [], _REPORT_SECONDS
    with ExitStack() as held:
        held.enter_context(ResultsFolder(root).in_use())
        group.check()
        for name in studies:
            held.enter_context(ResultsFolder(member_folder(root, name)).in_use())
        held.enter_context(live_view(root, viewed))
        studies = with_choices_of_existing(root, studies)
        prepared = {name: prepare_study(config, root / name, about_to_run=True) for name, config in studies.items()}
        group.check_diagnoses({name: study.diagnosis for name, study in prepared.items()})
        for name, study in prepared.items():
            study.proof.require()
            _log_warnings(name, study.warnings)
        ready, arrangements = arrange(studies, prepared, root, SHARED_FIRST_PHASES, workers, _log)
        group.write()
        for number, (name, study) in enumerate(ready.items(), start=1):
            _log(f"{name} ({number} of {len(ready)})")
            results = ResultsFolder(root / name)
            count = arrangements[name].workers
            outcome = run_study(study, results.path, count, command_line(), SHARED_FIRST_PHASES, closing=closing)
            _log_reused(outcome)
            if outcome.timeline is not None and group.reports_each:
                started = time.monotonic()
                with report_progress(name):
                    report_study(results)
                closing = time.monotonic() - started  # the next study's report takes about as long
            outcomes.append(outcome)
        if any(outcome.timeline is not None for outcome in outcomes):
            group.show(as_json)
    _exit_on_failures(outcomes)


def _dry_run(
    root: Path, studies: dict[str, StudyConfig], workers: Workers | None, group: StudyGroup | None, as_json: bool
) -> None:
    from einstellung.experiments.dry_run import describe, dry_run

    if group:
        group.check()
    planned = dry_run(root, studies, workers, _log, group.check_diagnoses if group else None)
    for name, study in planned["studies"].items():
        _log_warnings(name if group else "", study["warnings"])
    if as_json:
        print_json(planned)
    else:
        for line in describe(planned):
            echo(line)


def _log(line: str) -> None:
    echo(line, err=True)


def _log_warnings(study: str, warnings: Sequence[str]) -> None:
    for warning in warnings:
        _log(f"warning: {study}: {warning}" if study else f"warning: {warning}")


def _log_reused(outcome: Outcome) -> None:
    if outcome.reused:
        runs = "run" if outcome.reused == 1 else "runs"
        echo(f"reused {outcome.reused} finished {runs}, ran {outcome.ran}", err=True)


def _exit_on_failures(outcomes: list[Outcome]) -> None:
    from einstellung.experiments.launcher import describe_failures

    lines, code = describe_failures(failure for outcome in outcomes for failure in outcome.failures)
    for line in lines:
        say("einstellung", line)
    if code:
        raise Finished(code)
