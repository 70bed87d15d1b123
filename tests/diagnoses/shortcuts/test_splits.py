"""Names of splits: which are of several shortcuts, and what they hold."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.shortcuts.splits import are_shortcuts, describe_split, labels_and_width
from einstellung.errors import InputError


def test_split_names():
    assert are_shortcuts(["group_1_010"])
    assert not are_shortcuts(["val_0_11", "T2_group_night", "group_a_11"])
    cues = ["background", "co-object"]
    assert "class 0: background uncommon, co-object common" in describe_split("val_0_01", cues)
    assert describe_split("co-object_covered", cues) == "the same images with the co-object covered"
    assert describe_split("watermark_covered", cues) is None


def test_patterns_of_too_many_cues_are_refused():
    """Every pattern is a group: sixteen cues would be 65,536 of them, and each zero more doubles the time."""
    assert labels_and_width([f"group_0_{'0' * 8}"]) == (("0",), (8,))
    with pytest.raises(InputError, match=f"split 'group_0_{'0' * 9}' has the pattern of 9 cues: at most 8"):
        labels_and_width([f"group_0_{'0' * 9}"])
    assert not are_shortcuts([f"group_{'9' * 5000}_1"])
