"""``import``: logs of other tools as a timeline, and what was understood of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from einstellung.cli.log_options import import_options, log_options
from einstellung.cli.output import JSON, print_json
from einstellung.cli.parameters import PATH
from einstellung.errors import InputError

if TYPE_CHECKING:
    from einstellung.timeline import Timeline
    from einstellung.timeline.importing.layout import Understood

_MOST_NAMES = 12


@click.command("import")
@click.argument("paths", nargs=-1, required=True, type=PATH, metavar="FILE_OR_FOLDER...")
@log_options
@click.option("--dry-run", is_flag=True, help="Print what was understood, and write nothing.")
@JSON
@click.option("--out", type=PATH, help="The timeline to write: .csv or .parquet.")
def import_(paths: tuple[Path, ...], dry_run: bool, as_json: bool, out: Path | None, **arguments: Any) -> None:
    """Turn logs into a timeline: tables, JSON, TensorBoard, MLflow, W&B. See docs/timeline.md."""
    from einstellung.timeline import Timeline
    from einstellung.timeline.importing.finding import PARQUET_SUFFIXES

    options = import_options(arguments)
    if (out is None) != dry_run:
        raise InputError("give --out FILE to write the timeline, or --dry-run to see what is understood")
    if out is not None:
        if out.is_dir():
            raise InputError(f"{out} is a folder; name a file, such as {out / 'timeline.csv'}")
        if out.suffix not in (".csv", *PARQUET_SUFFIXES):
            raise InputError(f"--out {out}: name a .csv or .parquet file")
    timeline, understood = Timeline.understand(paths, options)
    if out is not None:
        timeline.write(out)
    if as_json:
        print_json({**_facts(timeline, understood), "out": None if out is None else str(out)})
        return
    for line in _lines(timeline, understood):
        click.echo(line)
    click.echo("nothing written (--dry-run)" if out is None else f"written: {out}")


def _facts(timeline: Timeline, understood: list[Understood]) -> dict[str, Any]:
    frame = timeline.frame
    return {
        "sources": [
            {
                "files": list(one.files),
                "format": one.format,
                "layout": one.layout,
                "columns_used": list(one.used),
                "columns_ignored": list(one.ignored),
                "rows": one.rows,
            }
            for one in understood
        ],
        "methods": list(timeline.methods),
        "seeds": sorted({seed for _, seed in timeline.runs}),
        "phases": list(timeline.phase_names),
        "splits": list(timeline.splits),
        "epochs": [float(frame["epoch"].min()), float(frame["epoch"].max())],
        "rows": len(frame),
        "without_loss": int(frame["loss"].isna().sum()),
        "without_n": int(frame["n"].isna().sum()),
    }


def _lines(timeline: Timeline, understood: list[Understood]) -> list[str]:
    facts = _facts(timeline, understood)
    lines = []
    for one in understood:
        count = len(one.files)
        files = one.files[0] if count == 1 else f"{one.files[0]} and {count - 1} more"
        lines.append(f"{files}: {one.format}, {one.layout} layout, {one.rows:,} rows")
        lines.append(f"  columns used: {_listed(one.used)}")
        lines.append(f"  columns ignored: {_listed(one.ignored)}")
    for name in ("methods", "seeds", "phases", "splits"):
        lines.append(f"{name}: {_listed([str(value) for value in facts[name]])}")
    first, last = facts["epochs"]
    lines.append(f"epochs: {first:g} to {last:g}")
    lines.append(f"rows: {facts['rows']:,}")
    for name, effect in (("loss", "checks that compare losses are skipped"), ("n", "the number of images is unknown")):
        if missing := facts[f"without_{name}"]:
            lines.append(f"{name}: missing in {'all' if missing == facts['rows'] else f'{missing:,}'} rows; {effect}")
    return lines


def _listed(names: list[str] | tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return (", ".join(names[:_MOST_NAMES]) or "none") + more
