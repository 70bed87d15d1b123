"""Names of splits: which are of several shortcuts, and what they hold."""

from __future__ import annotations

from einstellung.diagnoses.shortcuts.splits import are_shortcuts, describe_split


def test_split_names():
    assert are_shortcuts(["group_1_010"])
    assert not are_shortcuts(["val_0_11", "T2_group_night", "group_a_11"])
    cues = ["background", "co-object"]
    assert "class 0: background uncommon, co-object common" in describe_split("val_0_01", cues)
    assert describe_split("co-object_covered", cues) == "the same images with the co-object covered"
    assert describe_split("watermark_covered", cues) is None
