"""Captions of the figures of several shortcuts: what is shown and what it was measured on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.diagnoses.shortcuts.notation import turned_in, turned_in_words
from einstellung.diagnoses.shortcuts.tables import final_in_words
from einstellung.report.measured import seeds_in_words

_PLANE = """Two gaps of every method against each other at the end of {last} ({final}); {seeds}; {images}. Right and up is
good: no gap. {turned} Dashed: the gaps of {baseline}. In the tinted corners one gap is smaller than that of {baseline} and the
other larger: Whac-A-Mole. {bars} Marks and colours tell the verdicts, which need the intervals too."""

_GAPS = """Every gap of every method at the end of {last} ({final}), in points; {seeds}; {images}. {bars} Dashed: the gap of
{baseline}; grey: within the margin of it. Left of the dashed line: larger than that of {baseline}. Filled: the verdict on this
gap is certain (triangle to the left: amplified; to the right: reduced or cured; square: unchanged); open: undecided."""

_PHASES = """Accuracy where this cue alone is uncommon minus accuracy where all are common, at the end of every phase, in points;
mean over seeds, {spread}; {seeds}; {images}. Below each phase: the share of its training images in which the cue goes with the
label. With one half it has nothing to tell: a gap there is left from before. {above}"""

_SAMPLES = """What the models are tested on: a row for every group. The digits of a pattern stand for {cues}, in this order:
1 where it goes with the label, 0 where it does not."""

_TWINS = """Test images with a cue common, and the very same images with this cue alone swapped to its other value, and
covered."""


def shortcut_captions(card: Mapping[str, Any]) -> dict[str, str]:
    """The caption of every figure by its file name."""
    single = all(record["n_seeds"] == 1 for record in card["methods"].values())
    images = card["images"]
    words = {
        "last": card["phases"][-1],
        "final": final_in_words(card),
        "seeds": seeds_in_words(card),
        "baseline": card["baseline"],
        "images": f"{images['pattern']:,} test images a pattern" if images["pattern"] else "sizes not recorded",
        "bars": "A single seed has no interval."
        if single
        else "Bars: 95 % intervals over seeds; some may leave the picture.",
        "spread": "a single one" if single else "bars: 95 % intervals",
        "cues": ", ".join(card["cues"]),
        "turned": turned_in_words(card, card["phases"][-1]),
        "above": "Common means here, in every phase: with the label. Above 0, the model expects the cue to go against it."
        if any(turned_in(card, phase) for phase in card["phases"])
        else "",
    }
    templates = {"plane": _PLANE, "gaps": _GAPS, "phases": _PHASES, "samples": _SAMPLES, "twins": _TWINS}
    return {name: " ".join(template.format(**words).split()) for name, template in templates.items()}
