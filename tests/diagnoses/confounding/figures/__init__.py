"""What tests of figures share."""

from __future__ import annotations

from typing import Any

from matplotlib.text import Text


def texts_of(artist: Any) -> list[str]:
    """Every visible text of a figure or of axes."""
    return [text.get_text() for text in artist.findobj(Text) if text.get_visible() and text.get_text()]
