"""The rules once more, the slow and obvious way: objects as dictionaries, one scene after the other."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

from einstellung.scenes.attributes import COLOURS, MATERIALS, SHAPES, SIZES, describe_object
from einstellung.scenes.rules import ObjectPattern, RuleBook

SPHERE, SMALL_CUBE = ObjectPattern(shape="sphere"), ObjectPattern(shape="cube", size="small")
BLUE, METAL, LARGE = ObjectPattern(color="blue"), ObjectPattern(material="metal"), ObjectPattern(size="large")

# Two objects: few enough scenes to look at each of them.
PAIRS = RuleBook((SPHERE, SMALL_CUBE), ((BLUE,), (METAL,), (LARGE,)), objects=2)
# A confounder over two objects, patterns with several attributes, and one that implies another.
MIXED = RuleBook(
    (ObjectPattern(shape="sphere", material="metal"),),
    ((BLUE, ObjectPattern(shape="cube")), (ObjectPattern(size="large", color="red"), METAL)),
    objects=2,
)
PLACED = RuleBook(
    (SPHERE,), ((ObjectPattern(color="blue", side="left"),), (ObjectPattern(depth="back", side="right"),)), objects=1
)
PLACED_PAIRS = RuleBook(PLACED.ground_truth, PLACED.confounders, objects=2)


def every_object(book: RuleBook) -> list[dict[str, str]]:
    objects = [
        {"shape": shape, "size": size, "material": material, "color": colour}
        for shape, size, material, colour in product(SHAPES, SIZES, MATERIALS, COLOURS)
    ]
    if not book.uses_places:
        return objects
    return [
        one | {"side": side, "depth": depth}
        for one in objects
        for side in ("left", "right")
        for depth in ("front", "back")
    ]


@cache
def every_scene(book: RuleBook) -> list[tuple[dict[str, str], ...]]:
    return list(product(every_object(book), repeat=book.objects))


def obeys(scene, rule) -> bool:
    return all(
        any(all(item[name] == value for name, value in pattern.to_dict().items()) for item in scene) for pattern in rule
    )


def truth_values(scene, book: RuleBook) -> tuple[bool, list[bool]]:
    return obeys(scene, book.ground_truth), [obeys(scene, rule) for rule in book.confounders]


@cache
def every_truth(book: RuleBook) -> list[tuple[bool, list[bool]]]:
    """g and the confounders in every scene."""
    return [truth_values(scene, book) for scene in every_scene(book)]


def in_class(truths: tuple[bool, list[bool]], variant: str, task: int, label: int) -> bool:
    """Equations 1 and 2 as the paper writes them."""
    g, c = truths
    if variant == "unconfounded":
        return g == bool(label)
    if variant == "strict":
        return (g and c[task]) if label else not (g or c[task])
    others = [held for number, held in enumerate(c) if number != task]
    return (g and c[task] and not any(others)) if label else not (g or any(c))


def dictionaries(attributes: np.ndarray, places: np.ndarray | None = None) -> list[tuple[dict[str, str], ...]]:
    """Arrays of codes as scenes of dictionaries."""
    scenes = []
    for row, codes in enumerate(attributes):
        scene = [describe_object(one) for one in codes]
        if places is not None:
            for item, place in zip(scene, places[row].tolist(), strict=True):
                item["side"] = "right" if place in (1, 3) else "left"
                item["depth"] = "back" if place in (2, 3) else "front"
        scenes.append(tuple(scene))
    return scenes
