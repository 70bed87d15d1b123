from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from einstellung.streams import prove
from einstellung.streams.composites.stream import stream_of
from einstellung.streams.composites.table import CompositeTable
from tests.composites.small import few

PETS = next((Path(p) / "pets-on-scenes" for p in os.environ.get("EINSTELLUNG_DATA", "").split(os.pathsep) if p), None)

PHASES = ((0.75, 0.5, 0.9), (0.5, 0.75, 0.5))

COUNTS = {"train": 20, "val": 8, "test": 16}

CUES = ("background", "co-object", "watermark")


@pytest.fixture(autouse=True)
def _without_cache(monkeypatch):
    monkeypatch.setenv("EINSTELLUNG_CACHE", "off")


@pytest.fixture(scope="module")
def composed():
    return few(size=32, phases=PHASES, counts=COUNTS)


@pytest.fixture(scope="module")
def table(composed):
    return CompositeTable(composed)


@pytest.fixture(scope="module")
def stream(composed):
    """Three cues in two phases."""
    return stream_of(composed, shared=False, seed=0)


def failed(stream):
    return {check.name for check in prove(stream).checks if not check.passed}


def with_train(stream, number, **changes):
    phases = list(stream.phases)
    phases[number] = replace(phases[number], train=replace(phases[number].train, **changes))
    return replace(stream, phases=tuple(phases))


def with_split(stream, name, **changes):
    splits = [
        replace(split, images=replace(split.images, **changes)) if split.name == name else split
        for split in stream.splits
    ]
    return replace(stream, splits=tuple(splits))
