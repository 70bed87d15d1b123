"""``gate``: whether a model update may be deployed, judged by its reliance on a cue and by negative flips."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from einstellung.arguments import names, numbers, whole_numbers
from einstellung.cli.output import JSON, print_json
from einstellung.cli.parameters import FILE, PATH, FiniteFloat
from einstellung.cli.probing import THREADS, WNIDS, check_output_folder, find_folder
from einstellung.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from einstellung.gating import GateResult
    from einstellung.gating.result import OnInconclusive

_MODEL_OPTIONS = (
    "labels",
    "wnids",
    "backbone",
    "assignments",
    "mean",
    "std",
    "size",
    "box",
    "audit_folder",
    "classes",
    "threads",
)


@click.command()
@click.option(
    "--before", required=True, help="The deployed model: predictions (.csv, .parquet), results folder or model."
)
@click.option("--after", required=True, help="The new model, in the same form.")
@click.option(
    "--baseline", help="A model trained from scratch, in the same form: adds SFR_rel. The verdict does not change."
)
@click.option(
    "--max-delta", type=FiniteFloat(), default=0.02, show_default=True, help="Limit for the rise of reliance."
)
@click.option("--max-flips", type=FiniteFloat(), help="Limit for the share of negative flips.  [default: no limit]")
@click.option(
    "--inconclusive",
    type=click.Choice(["report", "pass", "fail"]),
    default="report",
    show_default=True,
    help="Exit code of an inconclusive result: 3 (report), 0 (pass) or 1 (fail).",
)
@click.option("--method", help="Of results folders: a method, or two (before,after).  [default: the only one]")
@click.option("--seed", "seeds", help="Of results folders: only these seeds.  [default: all in common]")
@click.option(
    "--data", type=PATH, help="Folder of pictures, also in EINSTELLUNG_DATA: --before and --after are models."
)
@click.option("--labels", type=PATH, help="Of --data: CSV table file,label,name.  [default: from names and folders]")
@WNIDS
@click.option("--box", help="Of --data: the cue, top,left,height,width in pixels of the model's input.")
@click.option(
    "--audit", "audit_folder", type=PATH, help="Of --data: instead of --box, the output folder of 'einstellung audit'."
)
@click.option("--classes", help="Of --data: classes that bear the cue, by number or name.  [default: all]")
@click.option("--cover", default="black", show_default=True, help="Of --data: what covers the cue.")
@click.option("--backbone", help="The net of weights files; see 'einstellung ls backbones'.")
@click.option("--backbone-option", "assignments", multiple=True, metavar="KEY=VALUE", help="E.g. width=8.")
@click.option("--mean", help="Of weights files: three numbers for pixels in 0..1.")
@click.option("--std", help="Likewise.")
@click.option("--size", type=int, help="Side of the weights files' input.  [default: the pictures']")
@THREADS
@click.option("--markdown", type=FILE, help="Write Markdown for a pull request here.")
@click.option("--junit", type=FILE, help="Write JUnit XML here.")
@click.option("--out", type=PATH, help="Write the page, JSON, Markdown and JUnit XML into this folder.")
@JSON
@click.pass_context
def gate(
    context: click.Context,
    before: str,
    after: str,
    baseline: str | None,
    max_delta: float,
    max_flips: float | None,
    inconclusive: OnInconclusive,
    method: str | None,
    seeds: str | None,
    markdown: Path | None,
    junit: Path | None,
    out: Path | None,
    as_json: bool,
    data: Path | None,
    **_: object,
) -> int:
    """Fail a model update that relies more on a cue, or that turns right answers wrong.

    Predictions are tables with the columns id, label, prediction and condition (cue, covered or clean), optionally group, and
    probability or one column a class. Exit code 0: pass, 1: fail, 2: bad input, 3: inconclusive.
    """
    from einstellung.gating import gate as judge
    from einstellung.gating.score import checked_limits

    checked_limits(max_delta, max_flips)  # before models are run
    check_output_folder(out)
    models = {"before": before, "after": after} | ({"baseline": baseline} if baseline is not None else {})
    tables: dict[str, pd.DataFrame] = {}
    if data is not None:
        if method is not None or seeds is not None:
            raise InputError("--method and --seed are for results folders, not for models with --data")
        tables = _predict(context, models, data)
    else:
        _refuse_model_options(context)
    given = tables or models
    result = judge(
        given["before"],
        given["after"],
        given.get("baseline"),
        max_delta,
        max_flips,
        method=None if method is None else names("--method", method),
        seeds=() if seeds is None else whole_numbers("--seed", seeds),
    )
    if tables:
        result = result.model_copy(update={"sources": models})
    page = _write(result, markdown, junit, out, inconclusive, tables)
    if as_json:
        print_json(result.to_json() | ({"report": str(page)} if page is not None else {}))
    else:
        _show(result, page)
    return result.exit_code(inconclusive)


def _refuse_model_options(context: click.Context) -> None:
    """Options of --data say nothing about predictions that are there already."""
    for parameter in context.command.params:
        if parameter.name in (*_MODEL_OPTIONS, "cover") and (
            context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
        ):
            raise InputError(f"{parameter.opts[0]} is for models with --data; predictions need none")


def _predict(context: click.Context, models: dict[str, str], data: Path) -> dict[str, pd.DataFrame]:
    from einstellung.classifiers.labelled import read_labelled
    from einstellung.classifiers.wnids import wnids_in
    from einstellung.cli.probing import thread_count
    from einstellung.cli.progress import progress_bar
    from einstellung.experiments.audited_models import WeightsOptions
    from einstellung.experiments.gated_models import CoveredCue, predict_models
    from einstellung.results.config import with_assignments
    from einstellung.training.devices import torch_threads

    given = context.params
    mean, std = (None if given[key] is None else numbers(f"--{key}", given[key], 3) for key in ("mean", "std"))
    weights = WeightsOptions(given["backbone"], with_assignments({}, given["assignments"]), mean, std, given["size"])
    cue = CoveredCue(
        None if given["box"] is None else _box(given["box"]),
        given["audit_folder"],
        () if given["classes"] is None else tuple(names("--classes", given["classes"])),
        given["cover"],
    )
    cue.check()
    wnids = None if given["wnids"] is None else wnids_in(given["wnids"])
    files = read_labelled(find_folder(data), given["labels"], wnids)
    with (
        torch_threads(thread_count(given["threads"])),
        progress_bar("predicting", "predicted", "models") as on_progress,
    ):
        return predict_models(models, files, weights, cue, on_progress)


def _box(text: str) -> tuple[int, int, int, int]:
    values = whole_numbers("--box", text)
    if len(values) != 4:
        raise InputError(f"--box {text}: give top,left,height,width in pixels")
    top, left, height, width = values
    return top, left, height, width


def _write(
    result: GateResult,
    markdown: Path | None,
    junit: Path | None,
    out: Path | None,
    inconclusive: OnInconclusive,
    tables: dict[str, pd.DataFrame],
) -> Path | None:
    from einstellung.files import write_text
    from einstellung.gating.junit import to_junit
    from einstellung.gating.markdown import to_pull_request
    from einstellung.gating.writing import write_gate

    if markdown is not None:
        write_text(markdown, to_pull_request(result))
    if junit is not None:
        write_text(junit, to_junit(result, inconclusive))
    if out is None:
        return None
    for role, table in tables.items():
        write_text(out / f"predictions_{role}.csv", table.to_csv(index=False))
    return write_gate(out, result, inconclusive)


def _show(result: GateResult, page: Path | None) -> None:
    from rich.console import Console

    from einstellung.gating.tables import comparison
    from einstellung.gating.verdict import rigidity_words
    from einstellung.report.terminal import Overview, print_overview

    click.echo(f"{result.summary}\n")
    said = [rigidity_words(result.baseline)] if result.baseline is not None else []
    print_overview(Console(), Overview(comparison(result), said), (), result.warnings)
    if page is not None:
        click.echo(f"\nreport: {page}")
