"""The lock files name every package that an environment of make consists of."""

from __future__ import annotations

import importlib.metadata
import re

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from .contents import ROOT
from .lock import ENVIRONMENTS, LOCKS


def versions(name: str) -> dict[str, str]:
    lines = (LOCKS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    found = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert len(found) == len(lines) - 1, "a package is there twice"
    return found


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_environment_is_locked_and_make_installs_what_is(name):
    found = versions(name)
    assert all(Version(version) for version in found.values())
    if "torch" in found:
        assert f"torch=={found['torch']}" in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert re.search(rf"INSTALL\) --constraint locks/{name}\.txt ", (ROOT / "Makefile").read_text(encoding="utf-8"))


def test_the_lock_of_the_developers_covers_dependencies_of_dependencies():
    """By the metadata of what is installed here, which pip did not consult when it made the lock."""
    locked, left, seen = versions("dev"), ["einstellung[dev]"], set()
    while left:
        requirement = Requirement(left.pop())
        if (key := (plain(requirement.name), tuple(sorted(requirement.extras)))) in seen:
            continue
        seen.add(key)
        if requirement.name != "einstellung":
            assert plain(requirement.name) in {plain(name) for name in locked}, requirement.name
        try:
            needed = importlib.metadata.requires(requirement.name) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # locked, and not installed in this environment
        for text in needed:
            one = Requirement(text)
            if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *requirement.extras)):
                left.append(text)
    assert len(seen) > 50
