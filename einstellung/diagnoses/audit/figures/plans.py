"""Every figure of an audit: its caption, how it is drawn, or why it cannot be."""

from __future__ import annotations

from pathlib import Path

from einstellung.diagnoses.audit.card import AuditCard
from einstellung.diagnoses.audit.figures.bearing import draw_bearing, shown_findings
from einstellung.diagnoses.audit.figures.controls import draw_controls
from einstellung.diagnoses.audit.figures.maps import class_maps, draw_maps
from einstellung.errors import InputError
from einstellung.npz import Arrays, read_npz
from einstellung.report.figures.plan import Plan
from einstellung.results.audit_files import PICTURES_FILE

_BEARING = """One row per finding (question mark: suspected). Left: the image with the strongest effect, overlaid with the drop
in the class's probability when a window of 5 % of the image is replaced by its mean colour (orange: drop; blue: rise; each row
scaled to its own maximum). Then further images in order of effect. Box: where the cue was found."""

_MAPS = """For each class, where the model is sensitive: the drop in the class's probability when a window of 5 % of the image
is replaced by its mean colour, averaged over up to 16 images (orange: drop; blue: rise; one scale per model, the largest value in
the title). Boxes: findings of the class at a fixed place (dashed: suspected)."""

_CONTROLS = """Accuracy lost on images of the class (proxy). Filled: the finding's mask in black, with its 95 % interval over
images; bars: the same mask with every other filling; squares: the same mask on images of other classes (NSC); diamonds: random
masks of equal area. A finding lies to the right of squares and diamonds with every filling."""


def plan_figures(card: AuditCard, folder: Path | None) -> list[Plan]:
    """The figures in the order of the page."""
    pictures, unread = _stored(folder)
    shown = shown_findings(card, pictures)
    found = any(record.numbered for record in card.methods.values())
    nothing = None if found else "nothing was found"
    maps = class_maps(card, pictures)
    return [
        Plan(
            "maps",
            "Where each class is sensitive",
            " ".join(_MAPS.split()),
            lambda: draw_maps(card, maps),
            why=None if maps else "this audit has no stored maps",
        ),
        Plan(
            "bearing",
            "Location of each finding, and the images with the strongest effect",
            " ".join(_BEARING.split()),
            lambda: draw_bearing(shown, card.image_size, len(card.methods) > 1),
            why=nothing or unread or (None if shown else "this audit has no stored images"),
        ),
        Plan(
            "controls",
            "Findings and their controls",
            " ".join(_CONTROLS.split()),
            lambda: draw_controls(card),
            why=nothing,
        ),
    ]


def _stored(folder: Path | None) -> tuple[Arrays, str | None]:
    """The pictures of the audit, and why they cannot be read."""
    if folder is None or not (file := folder / PICTURES_FILE).exists():
        return {}, None
    try:
        return read_npz(file), None
    except InputError as error:
        return {}, f"{PICTURES_FILE} {error}; run the audit again"
