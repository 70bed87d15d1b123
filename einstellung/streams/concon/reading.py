"""How well a table of perceived objects tells the scenes that it was read off."""

from __future__ import annotations

from collections import Counter

import numpy as np

from einstellung.scenes.attributes import Codes
from einstellung.scenes.rules import RuleBook
from einstellung.scenes.tables import attribute_table, object_codes


def read_rightly(tables: Codes, attributes: Codes, book: RuleBook) -> dict[str, float]:
    """Shares of scenes, from perceived tables [N, slots, 16] and the scenes' own attributes [N, K, 4].

    ``whole_scenes``: all objects are there, each as it is, and no other. ``ground_truth``: whoever takes what was perceived for
    what is there, and knows the rule, is right about g; a net that reasons on such tables can hardly be better.

    >>> from einstellung.scenes.rules import PAPER_RULES
    >>> scene = np.array([[[1, 0, 1, 2], [0, 0, 1, 2]]], dtype=np.uint8)  # a sphere and a small cube
    >>> read_rightly(attribute_table(scene), scene, PAPER_RULES)
    {'whole_scenes': 1.0, 'ground_truth': 1.0}
    >>> read_rightly(attribute_table(scene[:, :1]), scene, PAPER_RULES)  # the cube was overlooked
    {'whole_scenes': 0.0, 'ground_truth': 0.0}
    """
    whole = [
        Counter(row.tobytes() for row in perceived if row.any()) == Counter(row.tobytes() for row in true)
        for perceived, true in zip(tables, attribute_table(attributes), strict=True)
    ]
    present, codes = tables.any(axis=2), object_codes(tables)
    believed = np.all([(pattern.matches(codes, None) & present).any(axis=1) for pattern in book.ground_truth], axis=0)
    truth = book.truths(attributes)[:, 0]
    return {"whole_scenes": float(np.mean(whole)), "ground_truth": float((believed == truth).mean())}
