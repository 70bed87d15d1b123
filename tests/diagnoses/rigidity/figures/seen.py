"""What there is to see on a figure."""

from __future__ import annotations

from matplotlib.patches import Rectangle
from matplotlib.text import Text


def texts_of(figure):
    return [text.get_text() for text in figure.findobj(Text) if text.get_visible() and text.get_text()]


def hatches_of(figure):
    return [patch.get_hatch() for patch in figure.axes[0].patches if isinstance(patch, Rectangle) and patch.get_hatch()]
