"""The evaluation splits of composites."""

from __future__ import annotations

import numpy as np

from tests.streams.composites.conftest import CUES


def test_every_group_and_every_twin_is_a_split(stream):
    sizes = {split.name: len(split.images) for split in stream.splits}
    patterns = ["111", "110", "101", "100", "011", "010", "001", "000"]
    expected = {f"T{t}_{what}": size for t in (1, 2) for what, size in (("train", 32), ("val", 16))}
    expected |= {f"val_{label}_{pattern}": 1 for label in (0, 1) for pattern in patterns}
    expected |= {f"group_{label}_{pattern}": 2 for label in (0, 1) for pattern in patterns}
    expected |= {f"{cue}_{word}": 16 for cue in CUES for word in ("common", "swapped", "covered")}
    assert sizes == expected
    assert [len(phase.train) for phase in stream.phases] == [40, 40]
    own = {split.name for split in stream.splits if split.phase == "T1"}
    assert own == {"T1_train", "T1_val"}


def test_features_are_values_and_groups_are_what_is_common(stream, table):
    for split in stream.splits:
        if not split.name.startswith(("group_", "val_")):
            continue
        _, label, pattern = split.name.split("_")
        for y, features in zip(split.images.labels.tolist(), split.images.features.tolist(), strict=True):
            values = [(features >> bit) & 1 for bit in range(3)]
            assert y == int(label)
            assert "".join(str(int(value == y)) for value in values) == pattern
    train = stream.phases[1].train
    rows = train.index.numpy()
    assert np.array_equal((train.features.numpy() >> 2) & 1, table.parts.marks[rows])
    assert np.array_equal(train.features.numpy() & 1, table.layers.values["background"][table.parts.backgrounds[rows]])
