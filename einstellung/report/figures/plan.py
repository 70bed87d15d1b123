"""Figures of a report: planned by a diagnosis, drawn and saved here, in three formats, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from einstellung.report.figures.canvas import drawing, save
from einstellung.report.stages import announce
from einstellung.report.tables import Missing


@dataclass(frozen=True)
class Plan:
    """A figure by its file name: how it is drawn, or ``why`` it cannot be. ``section``: where a page shows it.

    ``pictures``: it shows images, whose colours a dark page leaves as they are.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[], Figure]
    why: str | None = None
    section: str = "figures"
    pictures: bool = False


@dataclass(frozen=True)
class Drawn:
    """A figure that was written: its file name without ending, and what the page needs."""

    name: str
    title: str
    caption: str
    svg: bytes
    section: str = "figures"
    pictures: bool = False


def draw_figures(plans: Iterable[Plan], folder: Path) -> tuple[dict[str, Drawn], list[Missing]]:
    """Write every figure that can be drawn into ``folder``, one after the other so that memory stays small."""
    drawn: dict[str, Drawn] = {}
    missing: list[Missing] = []
    plans = list(plans)
    with drawing():
        for number, plan in enumerate(plans, start=1):
            if plan.why is not None:
                missing.append(Missing(plan.name, plan.title, plan.why, plan.section))
                continue
            announce("figure", number, len(plans))
            svg = save(plan.draw(), folder, plan.name)["svg"]
            drawn[plan.name] = Drawn(plan.name, plan.title, plan.caption, svg, plan.section, plan.pictures)
    return drawn, missing
