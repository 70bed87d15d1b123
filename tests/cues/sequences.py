"""Cues for texts and series as the tests of cues, covers and streams use them."""

from __future__ import annotations

from einstellung.cues.series import GapCue, OffsetCue, SignatureCue, SpikeCue
from einstellung.cues.text import HeaderCue, StyleCue, TagCue, TokensCue
from einstellung.sources.vocabulary import Vocabulary

WORDS = Vocabulary(("from", "the", "editor", ":", "of", "daily", "news"))
PLACES = ("start", "end", "middle", 4, "per-index", "random")
TEXT_CUES = (
    *(TokensCue(size=size, place=place) for size, place in zip((1, 2, 4, 8, 2, 2), PLACES, strict=True)),
    *(HeaderCue(words="from: the editor", place=place).in_vocabulary(WORDS) for place in PLACES),
    TagCue(),
    TagCue(place="end"),
    StyleCue(),
    StyleCue(every=2, marker=3),
)
SERIES_CUES = (
    *(SpikeCue(place=place) for place in PLACES),
    SpikeCue(size=1, height=-2.0),
    *(OffsetCue(size=6, place=place) for place in PLACES),
    *(SignatureCue(size=8, place=place) for place in PLACES),
    *(GapCue(size=5, place=place) for place in PLACES),
)
