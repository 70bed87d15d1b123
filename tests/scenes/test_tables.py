"""Objects as rows of zeros and ones, and back."""

from __future__ import annotations

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.scenes.attributes import KINDS
from einstellung.scenes.tables import TABLE_COLUMNS, attribute_table, table_to_attributes


def test_every_kind_has_its_own_row_and_comes_back():
    codes = KINDS.reshape(24, 4, 4)
    table = attribute_table(codes)
    assert table.shape == (24, 4, 16)
    assert table.dtype == np.uint8
    assert (table.sum(axis=-1) == 5).all()  # present, and one value of each attribute
    assert len(np.unique(table.reshape(-1, 16), axis=0)) == 96
    assert np.array_equal(table_to_attributes(table), codes)


def test_the_columns_by_hand():
    """A large metal cylinder, purple: 1 | 0 0 1 | 0 1 | 0 1 | 0 0 0 0 0 1 0 0."""
    table = attribute_table(np.array([[[2, 1, 1, 5]]], dtype=np.uint8))
    assert table[0, 0].tolist() == [1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0]
    assert TABLE_COLUMNS[:4] == ("present", "shape=cube", "shape=sphere", "shape=cylinder")
    assert TABLE_COLUMNS[-3:] == ("color=purple", "color=cyan", "color=yellow")


@pytest.mark.parametrize("column", [0, 4])
def test_a_table_with_an_absent_object_or_value_is_no_scene(column):
    table = attribute_table(np.zeros((1, 2, 4), dtype=np.uint8))
    table[0, 1, column] = 0
    with pytest.raises(InputError, match="must be present, with one value"):
        table_to_attributes(table)
