"""One look for all figures: a method keeps its colour, its dash and its marker from the first figure to the last."""

from __future__ import annotations

import colorsys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

# Okabe and Ito's colour-blind-safe colours and three dark ones of Tol's. Black is the baseline's; Okabe and Ito's yellow is left
# out: it vanishes on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#332288", "#882255", "#661100")
BASELINE_COLOUR = "#000000"
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (5, 1.5, 1, 1.5)),
    (0, (1.2, 1.2)),
    (0, (8, 1.5, 1, 1.5, 1, 1.5)),
    (0, (2.5, 1.2)),
    (0, (8, 3)),
    (0, (3, 1.5, 3, 1.5, 1, 1.5)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_LIGHTNESS = (0.62, 0.24, 0.5, 0.72, 0.36)

INK = "#1a1a1a"
GREY = "#6b6b6b"
FAINT = "#d9d9d9"

# Every built-in method keeps its look in every report, whatever else is compared with it. Methods that are often compared have
# different hues: those of the ERI paper (the first six), and those of ConCon (from er to gdumb).
FAMILIAR = (
    *("sgd", "ewc_on", "derpp", "gpm", "dgr", "interleaved", "er", "der", "ewc", "joint", "cumulative"),
    *(
        "naive",
        "fromp",
        "bgs",
        "gdumb",
        "scratch",
        "scratch_t2",
        "erm",
        "gdro",
        "lff",
        "jtt",
        "dfr",
        "lle",
        "eiil",
        "debian",
    ),
    *("sd", "di", "subg", "mixup", "cutmix", "cutout", "augmix", "bg_aug", "txt_aug", "wtm_aug", "cff_aug"),
    *("lwf", "si", "agem", "er_ace", "xder", "cbp", "l2p", "coda_prompt", "lws", "scratch_pair"),
)

WIDTH = 7.0  # inches: the text width of a two-column paper

SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # shipped with matplotlib, so every machine draws the same bytes
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.7,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "hatch.linewidth": 0.6,
    "hatch.color": "#9a9a9a",
    "lines.linewidth": 1.6,
    "mathtext.default": "regular",
    "axes.unicode_minus": True,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "einstellung",
}


@dataclass(frozen=True)
class MethodStyle:
    """How one method is drawn."""

    colour: str
    dash: Any
    marker: str

    @property
    def line(self) -> dict[str, Any]:
        """Keyword arguments for a line with markers."""
        return {"color": self.colour, "linestyle": self.dash, "marker": self.marker, "markersize": 3.6}


def _slot(index: int) -> MethodStyle:
    """A style for each number from 0; 9 colours, 8 dashes and 7 markers have no common factor, so neighbours differ in all."""
    round_, place = divmod(index, len(PALETTE) * len(DASHES))
    dash = DASHES[place % len(DASHES)]
    if round_:  # a pattern with more dots than any of the list
        dash = (0, (4 + place % len(DASHES), 1.5, *(1, 1.5) * (round_ + 2)))
    return MethodStyle(_colour(index), dash, MARKERS[index % len(MARKERS)])


def _colour(index: int) -> str:
    """A colour of its own for each number from 0: the palette, then its hues in other lightnesses, which every eye sees."""
    ring, place = divmod(index, len(PALETTE))
    base = PALETTE[place]
    if ring == 0:
        return base
    red, green, blue = (int(base[at : at + 2], 16) / 255 for at in (1, 3, 5))
    hue, _, saturation = colorsys.rgb_to_hls(red, green, blue)
    turn = ring // len(_LIGHTNESS)
    turned = (hue + 0.0137 * turn) % 1
    mixed = colorsys.hls_to_rgb(
        turned, _LIGHTNESS[(ring + place) % len(_LIGHTNESS)], saturation * (0.85 - 0.02 * (turn % 9))
    )
    return "#" + "".join(f"{round(255 * part):02X}" for part in mixed)


def method_styles(methods: Sequence[str], baseline: str | None) -> dict[str, MethodStyle]:
    """Colour, dash and marker for every method; no two have the same colour.

    Methods that are not built in take colours that are free, as far as there are any.

    >>> styles = method_styles(["scratch_t2", "sgd", "mine"], "scratch_t2")
    >>> styles["scratch_t2"].colour, styles["sgd"].colour, styles["mine"].colour
    ('#000000', '#0072B2', '#D55E00')
    """
    others = [method for method in methods if method != baseline]
    slot_of = {name: slot for slot, name in enumerate(FAMILIAR) if name in others}
    for method in others:
        if method not in slot_of:
            slot_of[method] = _free_slot(slot_of.values(), len(FAMILIAR) + len(others))
    styles = {method: _slot(slot) for method, slot in slot_of.items()}
    if baseline in methods:
        styles[str(baseline)] = MethodStyle(BASELINE_COLOUR, (0, (3, 1.2)), "*")
    return {method: styles[method] for method in methods}


def _free_slot(taken: Collection[int], count: int) -> int:
    """One of ``count`` slots that is not taken, of the colour that is used least."""
    used = Counter(slot % len(PALETTE) for slot in taken)
    return min(set(range(count)) - set(taken), key=lambda slot: (used[slot % len(PALETTE)], slot))


class Compared(Protocol):
    """A card: methods, and the baseline that they are compared with."""

    @property
    def methods(self) -> Mapping[str, Any]: ...

    @property
    def baseline(self) -> str: ...


def styles_of(card: Compared) -> dict[str, MethodStyle]:
    """The styles of a card's methods."""
    return method_styles(list(card.methods), card.baseline)
