"""Four phases of small shapes: no cue, a cue, cue classes without their cue, and the cue back elsewhere in another colour."""

from __future__ import annotations

from typing import Any

from einstellung.cues import PatchCue
from einstellung.streams import Stream, shapes

PHASES: list[dict[str, Any]] = [
    {"classes": ["triangle", "square"]},
    {"classes": ["frame", "star"], "shortcut": ["frame"]},
    {"classes": ["moon", "lens"], "shortcut": ["lens"], "cue": None},
    {
        "classes": ["ring", "disc"],
        "shortcut": ["ring"],
        "cue": {"share": 1.0, "share_nsc": 0.5, "place": "bottom-right", "colour": [0, 255, 0]},
    },
]


def four_phases(phases: list[dict[str, Any]] | None = None, **changes: Any) -> Stream:
    settings = {"train_per_class": 10, "test_per_class": 4, "size": 16, "validation": 0.2, **changes}
    return shapes(PatchCue(size=3, share=0.75), phases=PHASES if phases is None else phases, **settings)
