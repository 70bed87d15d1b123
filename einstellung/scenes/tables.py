"""Scenes as attribute tables, the input of symbolic models: one row of zeros and ones per object."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from einstellung.errors import InputError
from einstellung.scenes.attributes import ATTRIBUTES, Codes

PRESENT = "present"
TABLE_COLUMNS = (PRESENT, *(f"{name}={value}" for name, values in ATTRIBUTES.items() for value in values))
_ENDS = np.cumsum([1, *map(len, ATTRIBUTES.values())])


def attribute_table(attributes: Codes) -> Codes:
    """Encode codes [N, K, 4] as rows [N, K, 16]: 1 for presence, then each attribute one-hot.

    >>> table = attribute_table(np.array([[[1, 0, 1, 2]]], dtype=np.uint8))
    >>> [TABLE_COLUMNS[column] for column in table[0, 0].nonzero()[0]]
    ['present', 'shape=sphere', 'size=small', 'material=metal', 'color=blue']
    """
    table = np.zeros((*attributes.shape[:-1], len(TABLE_COLUMNS)), dtype=np.uint8)
    table[..., 0] = 1
    for column, start in enumerate(_ENDS[:-1]):
        np.put_along_axis(table, attributes[..., column, None].astype(np.int64) + start, 1, axis=-1)
    return table


def object_codes(table: Codes) -> Codes:
    """Decode rows [..., 16] to codes [..., 4], the largest column of each attribute; also for absent objects.

    >>> object_codes(attribute_table(np.array([[[2, 1, 0, 7]]], dtype=np.uint8))).tolist()
    [[[2, 1, 0, 7]]]
    """
    groups = [table[..., start:end] for start, end in pairwise(_ENDS)]
    return np.stack([group.argmax(axis=-1) for group in groups], axis=-1).astype(np.uint8)


def table_to_attributes(table: Codes) -> Codes:
    """Decode a table in which all objects are present.

    >>> table_to_attributes(attribute_table(np.array([[[2, 1, 0, 7]]], dtype=np.uint8))).tolist()
    [[[2, 1, 0, 7]]]
    """
    groups = [table[..., start:end] for start, end in pairwise(_ENDS)]
    if not (table[..., 0] == 1).all() or any((group.sum(axis=-1) != 1).any() for group in groups):
        raise InputError("every object of an attribute table must be present, with one value per attribute")
    return object_codes(table)
