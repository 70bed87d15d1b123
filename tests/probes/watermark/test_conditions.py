"""Controls occlude as much as the watermark's letters."""

from __future__ import annotations

import numpy as np
import pytest

from einstellung.composites.watermark_mask import OPACITY, watermark_mask
from einstellung.probes.watermark.conditions import box, control, flat_bar, moved, shuffled


@pytest.mark.parametrize("size", [64, 224])
def test_controls_hide_as_much_as_the_letters(size):
    mask = watermark_mask(size)
    mixed = shuffled(mask, seed=3)
    assert np.array_equal(np.sort(mixed.ravel()), np.sort(mask.ravel()))
    assert box(mixed)[0].start >= box(mask)[0].start
    assert not np.array_equal(mixed, mask)
    assert np.array_equal(mixed, shuffled(mask, seed=3))
    assert not np.array_equal(mixed, shuffled(mask, seed=4))
    bar = flat_bar(mask)
    assert box(bar) == box(mask)
    assert bar.sum() == pytest.approx(mask.sum(), rel=1e-4)
    assert len(np.unique(bar)) == 2
    for part in (0.05, 0.75):
        elsewhere = moved(mask, part)
        assert elsewhere.sum() == pytest.approx(mask.sum())
        assert box(elsewhere)[0].start - box(mask)[0].start == round((part - 0.4) * size)
        assert box(elsewhere)[1] == box(mask)[1]
    assert control("opacity 0.75", size).opacity == 0.75
    assert control("latin", size).opacity == OPACITY
    for name in ("latin", "characters"):
        text = control(name, size).mask
        assert 0.7 < text.sum() / mask.sum() < 1.1
        (rows, columns), (own_rows, own_columns) = box(mask), box(text)
        assert own_rows.stop - own_rows.start == pytest.approx(rows.stop - rows.start, abs=3)
        assert own_columns.stop - own_columns.start == pytest.approx(columns.stop - columns.start, abs=6)
