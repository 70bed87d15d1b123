"""Streams of texts."""

from einstellung.streams.text.newsgroups import newsgroups
from einstellung.streams.text.phrases import phrases
from einstellung.streams.text.spam import spam

__all__ = ["newsgroups", "phrases", "spam"]
