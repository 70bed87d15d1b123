"""Names, suggestions, and things that other packages add."""

from __future__ import annotations

import pytest

from einstellung import registry as module
from einstellung.errors import InputError
from einstellung.registry import Registry


def test_a_name_is_taken_once():
    things = Registry[int]("thing")
    things.add("one", 1)
    things.add("one", 1)
    with pytest.raises(ValueError, match="two things are named 'one'"):
        things.add("one", 2)


def test_other_packages_are_loaded_only_when_asked_for(monkeypatch):
    loaded = []

    class Point:
        name = "theirs"

        @staticmethod
        def load():
            loaded.append(True)
            return 7

    monkeypatch.setattr(module, "entry_points", lambda group: [Point] if group == "einstellung.things" else [])
    things = Registry[int]("thing", group="einstellung.things")
    assert "theirs" in things
    assert list(things) == ["theirs"]
    assert not loaded
    assert things["theirs"] == 7
    assert things["theirs"] == 7
    assert loaded == [True]


def test_unknown_names_list_what_there_is():
    things = Registry[int]("thing")
    things.add("alpha", 1)
    with pytest.raises(InputError, match="unknown thing 'zzz': there are: alpha"):
        things["zzz"]
