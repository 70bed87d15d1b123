"""Every figure of an audit: its caption, how it is drawn, or why it cannot be."""

from __future__ import annotations

from pathlib import Path

from einstellung.diagnoses.audit.card import AuditCard
from einstellung.diagnoses.audit.figures.bearing import draw_bearing, shown_findings
from einstellung.diagnoses.audit.figures.controls import draw_controls
from einstellung.report.figures.plan import Plan
from einstellung.report.pictures import read_samples
from einstellung.results.audit_files import PICTURES_FILE

_BEARING = """A row per finding (with a question mark: a suspicion). Left: the image that bears it most, under a map of what the
class's probability loses where a window of 5 % of the image has the image's mean colour (orange: loses; blue: gains; each row by
its own largest value). Then the images that bear it, most bearing first. Box: where it was found."""

_CONTROLS = """Accuracy lost on images of the class (proxy). Filled: the finding's mask in black, with its 95 % interval over
images; bars: the same mask with every other filling; squares: the same mask on images of other classes (NSC); diamonds: random
masks of equal area. A finding lies to the right of squares and diamonds with every filling."""


def plan_figures(card: AuditCard, folder: Path | None) -> list[Plan]:
    """The figures in the order of the page."""
    file = None if folder is None else folder / PICTURES_FILE
    pictures = read_samples(file) if file is not None and file.exists() else {}
    shown = shown_findings(card, pictures)
    found = any(record.numbered for record in card.methods.values())
    nothing = None if found else "nothing was found"
    return [
        Plan(
            "bearing",
            "Where it was found, and the images that bear it",
            " ".join(_BEARING.split()),
            lambda: draw_bearing(shown, card.image_size, len(card.methods) > 1),
            why=nothing or (None if shown else "no pictures were stored with this audit"),
        ),
        Plan(
            "controls",
            "Findings and their controls",
            " ".join(_CONTROLS.split()),
            lambda: draw_controls(card),
            why=nothing,
        ),
    ]
