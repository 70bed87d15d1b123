"""Scenes to audit: drawn from the rules, or with a planted unintended rule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from einstellung.scenes.attributes import ATTRIBUTES, KINDS
from einstellung.scenes.audit import AuditedScenes, draw_scenes
from einstellung.scenes.predicates import n_tasks
from einstellung.scenes.rules import PAPER_RULES

BLUE = ATTRIBUTES["color"].index("blue")


def drawn(variant: str, count: int, seed: int, book=PAPER_RULES) -> AuditedScenes:
    return draw_scenes(book, variant, range(n_tasks(book, variant)), count, seed)


def with_twin_fillers(scenes: AuditedScenes, seed: int = 0) -> AuditedScenes:
    """Positives of task 0 as a generator makes them that fills a scene with one object twice."""
    generator = np.random.default_rng(seed)
    attributes = scenes.attributes.copy()
    for row in scenes.rows(0, 1):
        sphere, cube, filler = (KINDS[generator.integers(96)].copy() for _ in range(3))
        sphere[0], cube[:2], filler[3] = 1, 0, BLUE
        attributes[row] = generator.permutation(np.stack([sphere, cube, filler, filler]))
    return replace(scenes, attributes=attributes)
