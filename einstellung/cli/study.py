"""``run``, ``demo`` and ``validate``: studies."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from einstellung.arguments import add_data_location, names, whole_numbers, workers_from
from einstellung.cli.output import JSON, OUT, command_line, print_json, show_reported
from einstellung.cli.view import VIEW, live_view
from einstellung.errors import InputError

if TYPE_CHECKING:
    from einstellung.cli.study_groups import StudyGroup
    from einstellung.experiments.machine import Workers
    from einstellung.experiments.study import Outcome
    from einstellung.results.config import StudyConfig
    from einstellung.results.family import Family
    from einstellung.results.folder import ResultsFolder

CONFIG = click.argument("config", required=False, type=click.Path(path_type=Path), metavar="[CONFIG.yaml]")
PRESET = click.option("--preset", help="A built-in configuration; see 'einstellung ls presets'.")
METHODS = click.option("--methods", help="Comma list, instead of the configuration's.")
SEEDS = click.option("--seeds", help="Comma list, instead of the configuration's.")
SET = click.option(
    "--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change a setting, e.g. cue.size=6."
)
DATA = click.option(
    "--data", type=click.Path(path_type=Path), help="Folder of data sets.  [default: EINSTELLUNG_DATA, ./data]"
)
WORKERS = click.option(
    "--workers",
    metavar="N|auto",
    callback=lambda context, option, value: workers_from("--workers", value),
    help="Runs at a time; auto: by a short measurement.  [default: cores / threads per run, 1 on a GPU]",
)
LAUNCHER = click.option("--launcher", help="Where jobs run; see 'einstellung ls launchers'.  [default: local]")

_MARKS = {True: "ok  ", False: "FAIL", None: "--  "}  # of a check; None: it could not be made


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
    help="A study for each value, e.g. cue.size=2,4,6,8; given twice, for each pair of values.",
)
@click.option("--only", metavar="NAME,NAME,...", help="Run only these studies of a configuration with several.")
@DATA
@WORKERS
@LAUNCHER
@click.option("--dry-run", is_flag=True, help="Only show the runs, what they share, and how long they would take.")
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
    launcher: str | None,
    dry_run: bool,
    viewed: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run a study; what is finished already is not run again."""
    from einstellung.cli.study_groups import FamilyGroup, SweepGroup
    from einstellung.results.config import build_config
    from einstellung.results.family import Family
    from einstellung.results.folder import ResultsFolder
    from einstellung.results.sweep import parse_sweeps

    add_data_location(data)
    values, where = _values(config, preset, methods, seeds, assignments, launcher)
    sweep = parse_sweeps(sweeps)
    family = Family.of(values, where)
    if sweep and family:
        raise InputError(f"{where} describes several studies: --sweep needs a single one")
    if only is not None and not family:
        raise InputError(f"{where} describes a single study: --only chooses among several")
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
@LAUNCHER
@VIEW
@OUT
@JSON
def demo(workers: Workers | None, launcher: str | None, viewed: bool, out: Path | None, as_json: bool) -> None:
    """A learner after a history with and without the cue, eight seeds, drawn shapes: a report in a few minutes."""
    from einstellung.cli.study_groups import SweepGroup
    from einstellung.results.sweep import Sweep

    values, where = _values(None, "demo", None, None, (), launcher)
    sweep = Sweep("cue.habit", ("none", "same"))
    root = out or Path("results") / values["name"]
    _run_group(root, sweep.studies(values, where), workers, SweepGroup(root, sweep), viewed, as_json)


@click.command()
@CONFIG
@PRESET
@SET
@DATA
@click.option(
    "--data-map/--no-data-map", default=True, show_default=True, help="Ask the images of every phase alone for cues."
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
    """Check a configuration, prove its stream and run one step of every learner in every phase; nothing is kept."""
    from einstellung.diagnoses.reporting import common_diagnosis
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
                click.echo(f"{name}:")
            for check in proof.checks:
                click.echo(f"{_MARKS[check.passed]}  {check.name}: {check.detail}")
            for phase, rows in alone.items():
                stands_out = any(row.alarm for row in rows)
                click.echo(
                    f"{'cue?' if stands_out else 'map '}  {describe_phase(phase, rows, prepared.stream.class_names)}"
                )
            shared = sum(job.kind == "first_phase" for job in jobs)
            click.echo(f"{len(jobs) - shared} runs, {shared} first phases to train")
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
    launcher: str | None = None,
) -> tuple[dict[str, Any], str]:
    """The configuration as it was given, and its name in messages."""
    from einstellung.guide.settings import translated, with_guide_keys, with_its_backbone
    from einstellung.results.config import read_config, read_preset, with_assignments

    if (path is None) == (preset is None):
        raise InputError("give a CONFIG.yaml or --preset NAME (one of the two); 'einstellung ls presets' lists presets")
    where = str(path) if path else f"preset {preset}"
    values = read_preset(preset) if preset is not None else read_config(path or Path())
    values.setdefault("name", preset or (path or Path()).stem)
    try:
        values = translated(with_its_backbone(values, assignments), _log)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    values = with_guide_keys(with_assignments(values, assignments), _log)
    if methods is not None:
        values["methods"] = names("--methods", methods)
    if seeds is not None:
        values["seeds"] = whole_numbers("--seeds", seeds)
    if launcher is not None:
        values["launcher"] = launcher
    return values, where


def _study(config: StudyConfig, results: ResultsFolder, workers: Workers | None, viewed: bool, as_json: bool) -> None:
    from einstellung.diagnoses.reporting import report_study
    from einstellung.experiments.study import prepare_study, run_study
    from einstellung.experiments.workers import arrange

    prepared = prepare_study(config, results.path, about_to_run=True)
    prepared.proof.require()
    _log_warnings("", prepared.warnings)
    with results.in_use(), live_view(results.path, viewed):
        ready, arrangements = arrange({"": config}, {"": prepared}, results.path, "first_phases", workers, _log)
        outcome = run_study(ready[""], results.path, arrangements[""].workers, command_line())
        _log_reused(outcome)
        if outcome.timeline is not None:
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
    from einstellung.results.folder import ResultsFolder
    from einstellung.results.sweep import SHARED_FIRST_PHASES, with_choices_of_existing

    group.check()
    studies = with_choices_of_existing(root, studies)
    prepared = {name: prepare_study(config, root / name, about_to_run=True) for name, config in studies.items()}
    group.check_diagnoses({name: study.diagnosis for name, study in prepared.items()})
    for name, study in prepared.items():
        study.proof.require()
        _log_warnings(name, study.warnings)
    outcomes = []
    with ResultsFolder(root).in_use(), live_view(root, viewed):
        ready, arrangements = arrange(studies, prepared, root, SHARED_FIRST_PHASES, workers, _log)
        group.write()
        for number, (name, study) in enumerate(ready.items(), start=1):
            _log(f"{name} ({number} of {len(ready)})")
            results = ResultsFolder(root / name)
            with results.in_use():
                count = arrangements[name].workers
                outcome = run_study(study, results.path, count, command_line(), SHARED_FIRST_PHASES)
                _log_reused(outcome)
                if outcome.timeline is not None and group.reports_each:
                    report_study(results)
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
            click.echo(line)


def _log(line: str) -> None:
    click.echo(line, err=True)


def _log_warnings(study: str, warnings: Sequence[str]) -> None:
    for warning in warnings:
        _log(f"warning: {study}: {warning}" if study else f"warning: {warning}")


def _log_reused(outcome: Outcome) -> None:
    if outcome.reused:
        click.echo(f"{outcome.reused} finished runs were reused, {outcome.ran} were run", err=True)


def _exit_on_failures(outcomes: list[Outcome]) -> None:
    from einstellung.experiments.launcher import describe_failures

    lines, code = describe_failures(failure for outcome in outcomes for failure in outcome.failures)
    for line in lines:
        click.echo(f"einstellung: {line}", err=True)
    if code:
        sys.exit(code)
