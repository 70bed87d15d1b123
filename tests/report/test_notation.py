"""How things are written."""

from __future__ import annotations

from einstellung.report.notation import short_names


def test_short_names_stay_distinct():
    names = ["x" * 40, "x" * 41, "x" * 42, "sgd"]
    assert len(set(short_names(names).values())) == 4
