"""``score``: the index from log files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from einstellung.arguments import grid, numbers
from einstellung.cli.output import JSON, command_line, show_card
from einstellung.errors import InputError

if TYPE_CHECKING:
    from einstellung.timeline import Timeline


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE_OR_FOLDER...")
@click.option(
    "--baseline",
    help="The method that the others are compared with.  [default: scratch_t2; of confounded tasks scratch, of several "
    "shortcuts erm]",
)
@click.option(
    "--tau",
    type=float,
    help="Accuracy threshold of the adaptation delay.  [default: 0.6; of confounded tasks and several shortcuts 0.9]",
)
@click.option("--window", type=int, default=3, show_default=True, help="Width of the moving average, in epochs.")
@click.option("--smoothing", type=click.Choice(["trailing", "centred", "none"]), default="trailing", show_default=True)
@click.option("--tau-grid", default="0.3:0.6:0.05", show_default=True, help="first:last:step, or a comma list.")
@click.option(
    "--final",
    type=click.Choice(["auto", "last", "best-val", "worst-group"]),
    default="auto",
    show_default=True,
    help="The epoch that counts; worst-group: for several shortcuts, by the validation groups, in the last phase.",
)
@click.option(
    "--margins",
    default="1,0.02,0.02",
    show_default=True,
    metavar="AD,PD,SFR",
    help="What counts as a difference; PD's is also that of the gaps of several shortcuts.",
)
@click.option("--variant", type=click.Choice(["paper", "guide"]), default="paper", show_default=True)
@click.option("--guide-threshold", type=float, default=0.8, show_default=True, help="T1_all of the guide's delay.")
@click.option(
    "--correlations",
    metavar="RHO,...",
    help="Several shortcuts: the share of training images in which each cue is common, e.g. .95,.95; of phases that differ: "
    ".95,.5/.5,.95.",
)
@click.option(
    "--cues", metavar="NAME,...", help="Several shortcuts: names of the cues, in the order of a pattern's digits."
)
@click.option(
    "--level",
    type=float,
    help="Confounded tasks, several shortcuts: accuracy below which a method did not learn and is not judged.  [default: 0.75]",
)
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
    correlations: str | None,
    cues: str | None,
    level: float | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Score timelines: ours, or the public fork's timeline_*.csv as they are."""
    from einstellung.metrics.confounding_splits import is_confounding
    from einstellung.metrics.settings import Margins, ScoreSettings
    from einstellung.metrics.shortcuts_splits import is_shortcuts
    from einstellung.timeline import Timeline

    timeline = Timeline.read_many(paths)
    confounded, several = is_confounding(timeline), is_shortcuts(timeline)
    if (confounded or several) and variant == "guide":
        kind = "confounded tasks" if confounded else "several shortcuts"
        raise InputError(f"--variant guide has no meaning for timelines of {kind}")
    if level is not None and not (confounded or several):
        raise InputError(
            "--level is for timelines of confounded tasks or several shortcuts: the index has no use for it"
        )
    if confounded or not several:
        for option, given in (("--correlations", correlations), ("--cues", cues)):
            if given is not None:
                raise InputError(
                    f"{option} is for timelines of several shortcuts: there is no split such as group_0_11"
                )
    settings = ScoreSettings(
        baseline=baseline,
        tau=tau if tau is not None else _default_tau(confounded, several),
        window=window,
        smoothing=smoothing,  # type: ignore[arg-type]
        tau_grid=grid("--tau-grid", tau_grid),
        final=final,  # type: ignore[arg-type]
        margins=Margins(*numbers("--margins", margins, 3)),
        guide_threshold=guide_threshold,
        level=ScoreSettings.level if level is None else level,
    )
    if confounded:
        from einstellung.metrics.confounding import confounding_score
        from einstellung.metrics.confounding_settings import ConfoundingSettings

        card = confounding_score(timeline, ConfoundingSettings.of_score(settings))
    elif several:
        from einstellung.metrics.shortcuts import shortcut_score
        from einstellung.metrics.shortcuts_settings import ShortcutSettings

        card = shortcut_score(
            timeline,
            ShortcutSettings.of_score(settings),
            cues=[name.strip() for name in cues.split(",")] if cues is not None else None,
            correlations=_by_phase(correlations, timeline) if correlations is not None else None,
        )
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


def _default_tau(confounded: bool, several: bool) -> float:
    """The threshold of this kind of timeline."""
    from einstellung.metrics.confounding_settings import DEFAULT_TAU as OF_CONFOUNDED
    from einstellung.metrics.settings import ScoreSettings
    from einstellung.metrics.shortcuts_settings import DEFAULT_TAU as OF_SEVERAL

    return OF_CONFOUNDED if confounded else OF_SEVERAL if several else ScoreSettings.tau


def _by_phase(text: str, timeline: Timeline) -> dict[str, list[float]]:
    """Correlations of every phase: lists separated by a stroke, or one list for all phases."""
    from einstellung.metrics.shortcuts_splits import phases_of

    phases = phases_of(timeline)
    lists = [numbers("--correlations", part) for part in text.split("/")]
    if len(lists) not in (1, len(phases)):
        raise InputError(
            f"--correlations {text}: {len(lists)} lists for the {len(phases)} phases {', '.join(phases)}; give one, or one each"
        )
    return dict(zip(phases, lists if len(lists) > 1 else lists * len(phases), strict=True))


def _write_page(out: Path, timeline: Timeline, card: dict[str, Any], paths: tuple[Path, ...]) -> Path:
    """The page of somebody's logs; it says which files it was made from, by their hashes."""
    from einstellung.report import write_confounding_report, write_guide_report, write_report, write_shortcut_report
    from einstellung.results.provenance import file_hashes, now, provenance
    from einstellung.timeline.reading import timeline_files

    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; choose a folder for --out")
    if (out / "config.yaml").exists():
        raise InputError(f"{out} is the results folder of a study: use 'einstellung report {out}', or another --out")
    command = command_line()
    record = {**provenance(command, file_hashes(timeline_files(paths))), "finished": now()}
    if card.get("kind") == "confounding":
        return write_confounding_report(out, timeline, card, provenance=record)
    if card.get("kind") == "shortcuts":
        return write_shortcut_report(out, timeline, card, provenance=record)
    if card["variant"] == "guide":
        return write_guide_report(out, card, provenance=record)
    return write_report(out, timeline, card, provenance=record)
