"""The contact sheet: every twin below its original."""

from __future__ import annotations

import numpy as np

from einstellung.diagnoses.confounding.figures.samples import pairs_sheet, sheet_tasks


def test_each_twin_stands_below_its_original():
    originals = np.stack([np.full((128, 128, 3), value, dtype=np.uint8) for value in (1, 2, 3, 4, 5)])
    sheet = pairs_sheet(originals, originals + 100)
    assert [int(sheet[60, left, 0]) for left in (10, 150, 280, 420)] == [1, 2, 3, 4]
    assert [int(sheet[200, left, 0]) for left in (10, 150, 280, 420)] == [101, 102, 103, 104]
    assert sheet_tasks({"T1_positive": originals}, ["T1"]) == []
