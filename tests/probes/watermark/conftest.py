"""A folder of grey pictures of five classes."""

from __future__ import annotations

import pytest

from einstellung.classifiers.labelled import read_labelled
from tests.classifiers.tiny import grey


@pytest.fixture
def pictures(tmp_path):
    """Three dark ones (0) and one bright one (2) named rightly, one dark one that is called 1."""
    for name, level in {"0_a": 0.1, "0_b": 0.2, "0_c": 0.05, "2_d": 0.99, "1_n00000001_carton": 0.15}.items():
        grey(tmp_path / "pictures" / f"{name}.png", level)
    return read_labelled(tmp_path / "pictures")
