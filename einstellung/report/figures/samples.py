"""Figures 1 and 2: what the models saw. Every pixel is drawn as a square, so a 4x4 patch can be counted."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from einstellung.report.figures.canvas import new_figure
from einstellung.report.figures.style import WIDTH

_AT_MOST = 8
_SHARP = 128  # pixels a side below which images are enlarged


def in_grey(samples: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    r"""The images by their luminance alone (ITU-R BT.601): :math:`Y = 0.299 R + 0.587 G + 0.114 B`.

    >>> in_grey({"patched": np.array([[[[255, 0, 255]]]], dtype=np.uint8)})["patched"].ravel().tolist()
    [105, 105, 105]
    """
    grey = {}
    for name, images in samples.items():
        if images.dtype == np.uint8 and images.ndim == 4:  # the captions are no images
            luminance = np.rint(images @ np.array([0.299, 0.587, 0.114])).astype(np.uint8)
            grey[name] = np.repeat(luminance[..., None], 3, axis=-1)
    return grey


def draw_samples(samples: Mapping[str, np.ndarray], rows: Sequence[str], captions: Sequence[str] = ()) -> Figure:
    """One row per named array, one column per image, at most eight columns."""
    images = [samples[row][:_AT_MOST] for row in rows]
    columns = len(images[0])
    size = (WIDTH - 0.9) / _AT_MOST
    figure = new_figure(0.9 + size * columns, size * len(rows) + (0.35 if len(captions) else 0.1), padding=0.015)
    panels = figure.subplots(len(rows), columns, squeeze=False)
    for row, (name, batch) in enumerate(zip(rows, images, strict=True)):
        for column, image in enumerate(batch):
            axes = panels[row, column]
            axes.imshow(enlarged(image), interpolation="none")
            axes.set_xticks([])
            axes.set_yticks([])
            for spine in axes.spines.values():
                spine.set_visible(False)
            if row == 0 and column < len(captions):
                label = textwrap.shorten(str(captions[column]), 16, placeholder="…")
                axes.set_title(label, fontsize=6.5, pad=2, parse_math=False)
        panels[row, 0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=8)
    return figure


def enlarged(image: np.ndarray) -> np.ndarray:
    """A small image with every pixel as a square: viewers of SVG and PDF would smooth it over.

    >>> enlarged(np.zeros((32, 32, 3), dtype=np.uint8)).shape
    (128, 128, 3)
    """
    scale = max(1, _SHARP // image.shape[0])
    return image.repeat(scale, 0).repeat(scale, 1)
