"""The command line: verbs only. What a verb needs is imported when it is called, so that ``--help`` answers at once."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from einstellung import __version__
from einstellung.arguments import grid, numbers, whole_numbers, workers_for
from einstellung.errors import InputError

if TYPE_CHECKING:
    from einstellung.experiments.config import StudyConfig

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output, and nothing else.")
OUT = click.option("--out", type=click.Path(path_type=Path), help="Results folder.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="einstellung")
def cli() -> None:
    """Does a continual learner adapt for the right reason?

    \b
    einstellung demo               four learners on drawn shapes, a planted cue, a report in minutes
    einstellung score FILES...     the Einstellung Rigidity Index from your own log files
    einstellung run CONFIG.yaml    a study of your own
    """


def main() -> None:
    """Entry point: one clear line and exit code 2 for whatever the user gave wrongly."""
    try:
        code = cli.main(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        code = 0
    except click.ClickException as error:
        click.echo(f"einstellung: {' '.join(error.format_message().split())}", err=True)
        code = 2
    except InputError as error:
        click.echo(f"einstellung: {error}", err=True)
        code = 2
    except (click.Abort, KeyboardInterrupt):
        goes_on = "; the same command goes on from here" if sys.argv[1:2] in (["run"], ["demo"]) else ""
        click.echo(f"einstellung: stopped{goes_on}", err=True)
        code = 130
    except BrokenPipeError:
        # The reader of our output has left (a pager, head): nothing is wrong on our side.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


@cli.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE_OR_FOLDER...")
@click.option("--baseline", help="The method trained from scratch on T2.  [default: scratch_t2]")
@click.option("--tau", type=float, default=0.6, show_default=True, help="Accuracy threshold of the adaptation delay.")
@click.option("--window", type=int, default=3, show_default=True, help="Width of the moving average, in epochs.")
@click.option("--smoothing", type=click.Choice(["trailing", "centred", "none"]), default="trailing", show_default=True)
@click.option("--tau-grid", default="0.3:0.6:0.05", show_default=True, help="first:last:step, or a comma list.")
@click.option("--final", type=click.Choice(["auto", "last", "best-val"]), default="auto", show_default=True)
@click.option(
    "--margins", default="1,0.02,0.02", show_default=True, metavar="AD,PD,SFR", help="What counts as a difference."
)
@click.option("--variant", type=click.Choice(["paper", "guide"]), default="paper", show_default=True)
@JSON
@click.option("--out", type=click.Path(path_type=Path), help="Write figures, tables and the page into this folder.")
def score(
    paths: tuple[Path, ...],
    baseline: str | None,
    tau: float,
    window: int,
    smoothing: str,
    tau_grid: str,
    final: str,
    margins: str,
    variant: str,
    as_json: bool,
    out: Path | None,
) -> None:
    """Score timelines: ours, or the public fork's timeline_*.csv as they are."""
    from einstellung.metrics.settings import Margins, ScoreSettings
    from einstellung.timeline import Timeline

    settings = ScoreSettings(
        baseline=baseline,
        tau=tau,
        window=window,
        smoothing=smoothing,  # type: ignore[arg-type]
        tau_grid=grid("--tau-grid", tau_grid),
        final=final,  # type: ignore[arg-type]
        margins=Margins(*numbers("--margins", margins, 3)),
    )
    timeline = Timeline.read_many(paths)
    if variant == "guide":
        from einstellung.metrics.guide import guide_score

        card = guide_score(timeline, settings).to_dict()
    else:
        from einstellung.metrics.scorecard import score as compute

        card = compute(timeline, settings).to_dict()
    page = None
    if out is not None:
        page = _write_page(out, timeline, card, paths)
    _show(card, as_json, page)


@cli.command()
@click.argument("config", required=False, type=click.Path(path_type=Path), metavar="[CONFIG.yaml]")
@click.option("--preset", help="A built-in configuration; see 'einstellung ls presets'.")
@click.option("--methods", help="Comma list, instead of the configuration's.")
@click.option("--seeds", help="Comma list, instead of the configuration's.")
@click.option(
    "--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change a setting, e.g. training.lr=0.1."
)
@click.option("--workers", type=click.IntRange(min=1), help="Runs at a time.  [default: cores / threads per run]")
@OUT
@JSON
def run(
    config: Path | None,
    preset: str | None,
    methods: str | None,
    seeds: str | None,
    assignments: tuple[str, ...],
    workers: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run a study; what is finished already is not run again."""
    _study(_configured(config, preset, methods, seeds, assignments), out, workers, as_json)


@cli.command()
@click.option("--workers", type=click.IntRange(min=1), help="Runs at a time.  [default: cores / threads per run]")
@OUT
@JSON
def demo(workers: int | None, out: Path | None, as_json: bool) -> None:
    """Four learners, three seeds, drawn shapes, a planted cue: a report in a few minutes, without any download."""
    _study(_configured(None, "demo", None, None, ()), out, workers, as_json)


@cli.command()
@click.argument("config", required=False, type=click.Path(path_type=Path), metavar="[CONFIG.yaml]")
@click.option("--preset", help="A built-in configuration.")
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Change a setting before checking.")
@JSON
def validate(config: Path | None, preset: str | None, assignments: tuple[str, ...], as_json: bool) -> None:
    """Check a configuration and prove its stream, without training anything."""
    from einstellung.experiments.plan import plan
    from einstellung.experiments.study import prepare_study

    prepared = prepare_study(_configured(config, preset, None, None, assignments))
    proof = prepared.proof
    jobs = plan(prepared.config, prepared.stream)
    if as_json:
        resolved = prepared.config.model_dump(mode="json")
        _print_json({"configuration": resolved, "proof": proof.to_dict(), "holds": proof.holds})
    else:
        for check in proof.checks:
            click.echo(f"{'ok  ' if check.passed else 'FAIL'}  {check.name}: {check.detail}")
        shared = sum(job.kind == "first_phase" for job in jobs)
        click.echo(f"{len(jobs) - shared} runs, {shared} first phases to train")
    proof.require()


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@JSON
def report(folder: Path, as_json: bool) -> None:
    """Score a results folder and write its figures, tables and page anew."""
    from einstellung.experiments.folder import ResultsFolder

    results = ResultsFolder(folder)
    if not folder.is_dir():
        raise InputError(f"no such folder: {folder}")
    if not results.config_file.exists():
        raise InputError(
            f"{folder} is not a results folder (no config.yaml); for log files use 'einstellung score {folder} --out REPORT'"
        )
    from einstellung.report.study import report_study

    with results.in_use():
        card, page = report_study(results)
    _show(card, as_json, page)


@cli.command("ls")
@click.argument("what", type=click.Choice(["learners", "streams", "cues", "covers", "backbones", "presets"]))
@JSON
def list_(what: str, as_json: bool) -> None:
    """List what can be named in a configuration."""
    from einstellung.experiments.catalogue import catalogue

    entries = catalogue(what)
    if as_json:
        _print_json({what: entries})
        return
    width = max(len(entry["name"]) for entry in entries)
    for entry in entries:
        click.echo(f"{entry['name']:<{width}}  {entry['summary']}")
        for key, value in entry["options"].items():
            click.echo(f"{'':<{width}}    {key} = {value}")


def _configured(
    path: Path | None, preset: str | None, methods: str | None, seeds: str | None, assignments: tuple[str, ...]
) -> StudyConfig:
    from einstellung.experiments.config import build_config, read_config, read_preset, with_assignments

    if (path is None) == (preset is None):
        raise InputError("give a CONFIG.yaml or --preset NAME (one of the two); 'einstellung ls presets' lists presets")
    values = read_preset(preset) if preset is not None else read_config(path or Path())
    values.setdefault("name", preset or (path or Path()).stem)
    values = with_assignments(values, assignments)
    if methods is not None:
        values["methods"] = [name.strip() for name in methods.split(",") if name.strip()]
    if seeds is not None:
        values["seeds"] = whole_numbers("--seeds", seeds)
    return build_config(values, str(path) if path else f"preset {preset}")


def _study(config: StudyConfig, out: Path | None, workers: int | None, as_json: bool) -> None:
    from einstellung.experiments.folder import ResultsFolder
    from einstellung.experiments.study import prepare_study, run_study
    from einstellung.report.study import report_study

    results = ResultsFolder(out or Path("results") / config.name)
    prepared = prepare_study(config, results.path)
    prepared.proof.require()
    with results.in_use():
        command = shlex.join(["einstellung", *sys.argv[1:]])
        outcome = run_study(prepared, results.path, workers or workers_for(config.training.threads), command)
        if outcome.reused:
            click.echo(f"{outcome.reused} finished runs were reused, {outcome.ran} were run", err=True)
        if outcome.timeline is not None:
            card, page = report_study(results)
            _show(card, as_json, page)
    if outcome.failures:
        failed = [f"{failure.job.label} failed: {failure.reason}" for failure in outcome.failures]
        by_input = all(failure.by_input for failure in outcome.failures)
        # What the user can mend (a full disk) has one cause and needs one line; other failures each have their own.
        for sentence in failed[:1] if by_input else failed:
            more = f" (and {len(failed) - 1} more like it)" if by_input and len(failed) > 1 else ""
            click.echo(f"einstellung: {sentence}{more}", err=True)
        sys.exit(2 if by_input else 1)


def _write_page(out: Path, timeline: Any, card: dict[str, Any], paths: tuple[Path, ...]) -> Path:
    """The page of somebody's logs; it says which files it was made from, by their hashes."""
    from einstellung.experiments.provenance import file_hashes, now, provenance
    from einstellung.report import write_guide_report, write_report
    from einstellung.timeline.reading import timeline_files

    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; choose a folder for --out")
    if (out / "config.yaml").exists():
        raise InputError(f"{out} is the results folder of a study: use 'einstellung report {out}', or another --out")
    command = shlex.join(["einstellung", *sys.argv[1:]])
    record = {**provenance(command, file_hashes(timeline_files(paths))), "finished": now()}
    if card["variant"] == "guide":
        return write_guide_report(out, card, provenance=record)
    return write_report(out, timeline, card, provenance=record)


def _show(card: dict[str, Any], as_json: bool, page: Path | None) -> None:
    if as_json:
        _print_json({**card, "report": str(page)} if page is not None else card)
        return
    from rich.console import Console

    from einstellung.report import render_terminal

    render_terminal(card, Console())
    if page is not None:
        click.echo(f"\nreport: {page}")


def _print_json(value: Any) -> None:
    from einstellung.files import to_json

    click.echo(to_json(value))
