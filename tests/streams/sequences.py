"""Small streams of texts and series."""

from __future__ import annotations

from einstellung.cues import Cue
from einstellung.streams import Stream, phrases, waves

SMALL = {"train_per_class": 10, "test_per_class": 3}


def texts(cue: Cue, cover: str = "remove", **options) -> Stream:
    return phrases(cue, cover, **SMALL, **options)


def series(cue: Cue, cover: str = "interpolate", **options) -> Stream:
    return waves(cue, cover, **SMALL, **options)
