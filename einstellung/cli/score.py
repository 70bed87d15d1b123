"""``score``: the index from log files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from einstellung.arguments import grid, numbers
from einstellung.cli.output import JSON, command_line, show_card
from einstellung.errors import InputError


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE_OR_FOLDER...")
@click.option(
    "--baseline",
    help="The method trained from scratch on T2 (confounded tasks: in every phase).  [default: scratch_t2, scratch]",
)
@click.option(
    "--tau",
    type=float,
    help="Accuracy threshold of the adaptation delay.  [default: 0.6, of confounded tasks 0.9]",
)
@click.option("--window", type=int, default=3, show_default=True, help="Width of the moving average, in epochs.")
@click.option("--smoothing", type=click.Choice(["trailing", "centred", "none"]), default="trailing", show_default=True)
@click.option("--tau-grid", default="0.3:0.6:0.05", show_default=True, help="first:last:step, or a comma list.")
@click.option("--final", type=click.Choice(["auto", "last", "best-val"]), default="auto", show_default=True)
@click.option(
    "--margins", default="1,0.02,0.02", show_default=True, metavar="AD,PD,SFR", help="What counts as a difference."
)
@click.option("--variant", type=click.Choice(["paper", "guide"]), default="paper", show_default=True)
@click.option("--guide-threshold", type=float, default=0.8, show_default=True, help="T1_all of the guide's delay.")
@JSON
@click.option("--out", type=click.Path(path_type=Path), help="Write figures, tables and the page into this folder.")
def score(
    paths: tuple[Path, ...],
    baseline: str | None,
    tau: float | None,
    window: int,
    smoothing: str,
    tau_grid: str,
    final: str,
    margins: str,
    variant: str,
    guide_threshold: float,
    as_json: bool,
    out: Path | None,
) -> None:
    """Score timelines: ours, or the public fork's timeline_*.csv as they are."""
    from einstellung.metrics.confounding_settings import DEFAULT_TAU
    from einstellung.metrics.confounding_splits import is_confounding
    from einstellung.metrics.settings import Margins, ScoreSettings
    from einstellung.timeline import Timeline

    timeline = Timeline.read_many(paths)
    confounded = is_confounding(timeline)
    if confounded and variant == "guide":
        raise InputError("--variant guide has no meaning for timelines of confounded tasks")
    settings = ScoreSettings(
        baseline=baseline,
        tau=tau if tau is not None else DEFAULT_TAU if confounded else ScoreSettings.tau,
        window=window,
        smoothing=smoothing,  # type: ignore[arg-type]
        tau_grid=grid("--tau-grid", tau_grid),
        final=final,  # type: ignore[arg-type]
        margins=Margins(*numbers("--margins", margins, 3)),
        guide_threshold=guide_threshold,
    )
    if confounded:
        from einstellung.metrics.confounding import confounding_score
        from einstellung.metrics.confounding_settings import ConfoundingSettings

        card = confounding_score(timeline, ConfoundingSettings.of_score(settings))
    elif variant == "guide":
        from einstellung.metrics.guide import guide_score

        card = guide_score(timeline, settings).to_dict()
    else:
        from einstellung.metrics.scorecard import score as compute

        card = compute(timeline, settings).to_dict()
    page = None
    if out is not None:
        page = _write_page(out, timeline, card, paths)
    show_card(card, as_json, page)


def _write_page(out: Path, timeline: Any, card: dict[str, Any], paths: tuple[Path, ...]) -> Path:
    """The page of somebody's logs; it says which files it was made from, by their hashes."""
    from einstellung.experiments.provenance import file_hashes, now, provenance
    from einstellung.report import write_confounding_report, write_guide_report, write_report
    from einstellung.timeline.reading import timeline_files

    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; choose a folder for --out")
    if (out / "config.yaml").exists():
        raise InputError(f"{out} is the results folder of a study: use 'einstellung report {out}', or another --out")
    command = command_line()
    record = {**provenance(command, file_hashes(timeline_files(paths))), "finished": now()}
    if card.get("kind") == "confounding":
        return write_confounding_report(out, timeline, card, provenance=record)
    if card["variant"] == "guide":
        return write_guide_report(out, card, provenance=record)
    return write_report(out, timeline, card, provenance=record)
