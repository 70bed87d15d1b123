"""Scenes for the tests of rendering: drawn, or set up by hand."""

from __future__ import annotations

import numpy as np

from einstellung.scenes.attributes import ATTRIBUTES, KINDS
from einstellung.scenes.layout import place_scenes
from einstellung.scenes.scene import Scenes


def drawn(count: int, seed: int = 0, objects: int = 4) -> Scenes:
    kinds = KINDS[np.random.default_rng(seed).integers(len(KINDS), size=(count, objects))]
    return place_scenes(kinds, None, [np.random.default_rng([seed, number]) for number in range(count)])


def by_hand(*objects: tuple[str, float, float], rotation: float = 0.3) -> Scenes:
    """One scene with camera and lamps where they usually are: of each object its words and its place."""
    codes = [
        [values.index(word) for word, values in zip(words.split(), ATTRIBUTES.values(), strict=True)]
        for words, _, _ in objects
    ]
    return Scenes(
        np.array([codes], dtype=np.uint8),
        np.array([[place for _, *place in objects]]),
        np.full((1, len(objects)), rotation),
        np.zeros((1, 3)),
        np.zeros((1, 3, 3)),
    )
