"""CLEVR's object attributes: shape, size, material and colour, 96 kinds of objects in all."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint8]

SHAPES = ("cube", "sphere", "cylinder")
SIZES = ("small", "large")
MATERIALS = ("rubber", "metal")
COLOURS = ("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow")

# In the order of the columns of a code array; a code is an index into the tuple. Spelled as in the published files.
ATTRIBUTES = {"shape": SHAPES, "size": SIZES, "material": MATERIALS, "color": COLOURS}
COLUMNS = tuple(ATTRIBUTES)

RADII = (0.35, 0.7)  # by size; half the side of a cube is this / sqrt(2)
RGB = (
    (87, 87, 87),
    (173, 35, 35),
    (42, 75, 215),
    (29, 105, 20),
    (129, 74, 25),
    (129, 38, 192),
    (41, 208, 208),
    (255, 238, 51),
)

KINDS: Codes = np.array(list(product(*(range(len(values)) for values in ATTRIBUTES.values()))), dtype=np.uint8)
# A kind's number is its row in KINDS.
_STEPS = np.array([len(SIZES) * len(MATERIALS) * len(COLOURS), len(MATERIALS) * len(COLOURS), len(COLOURS), 1])


def kind_numbers(codes: Codes) -> npt.NDArray[np.int64]:
    """The kind number of every object, from codes [..., 4].

    >>> int(kind_numbers(KINDS[37]))
    37
    """
    return np.asarray((codes.astype(np.int64) * _STEPS).sum(axis=-1), dtype=np.int64)


def describe_object(codes: Codes) -> dict[str, str]:
    """The attributes of one object by name.

    >>> describe_object(np.array([1, 0, 1, 2], dtype=np.uint8))
    {'shape': 'sphere', 'size': 'small', 'material': 'metal', 'color': 'blue'}
    """
    return {name: values[code] for (name, values), code in zip(ATTRIBUTES.items(), codes.tolist(), strict=True)}
