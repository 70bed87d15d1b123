"""Scenes of a class: attributes that its rule allows, and a layout that carries no information about the label.

Small objects must stand near the camera to be visible, and large ones far from each other. A layout that only suits its own
objects would therefore reveal which objects there are, and thus the label. So it must also suit a counterpart: the attributes
of a scene of the task's other class, drawn afresh. With a and b drawn from the two classes, a layout x of either class has the
density E[valid(x, a) valid(x, b) / Z(a, b)], which is the same for both labels.

Where rules mention places, positions are part of the rules, and there is no counterpart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from einstellung.scenes.attributes import Codes
from einstellung.scenes.layout import place_scenes
from einstellung.scenes.rule_book import RuleBook
from einstellung.scenes.sampling import draw_attributes
from einstellung.scenes.scene import Scenes

SAMPLING_VERSION = 2  # of how attributes and layouts are drawn; part of cache keys and manifests


class ClassScenes(NamedTuple):
    """Scenes of one class; ``places`` [N, K] only where the rules mention places."""

    scenes: Scenes
    places: Codes | None


def draw_class(
    book: RuleBook, variant: str, task: int, label: int, generators: Sequence[np.random.Generator]
) -> ClassScenes:
    """Draw one scene per generator: its attributes first, then its counterpart's, then the layout.

    >>> from einstellung.scenes.rule_book import PAPER_RULES
    >>> drawn = draw_class(PAPER_RULES, "strict", 0, 1, [np.random.default_rng(seed) for seed in range(3)])
    >>> PAPER_RULES.truths(drawn.scenes.attributes)[:, :2].all()  # sphere and small cube, and blue
    np.True_
    """
    attributes, places = draw_attributes(book, variant, task, label, generators)
    counterparts = None
    if places is None:
        counterparts, _ = draw_attributes(book, variant, task, 1 - label, generators)
    return ClassScenes(place_scenes(attributes, places, generators, counterparts=counterparts), places)
