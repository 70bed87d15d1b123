"""Counterfactual replacement: what a class loses if a part of its images is replaced, in the model and in its baseline.

Parts are the window that other classes' content harms most, colour channels, low and high frequencies, the border and, where the
place of the object is known, the background.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from einstellung.cues import cover
from einstellung.probes.audit.backgrounds import other_backgrounds
from einstellung.probes.audit.components import CONSTRUCTION, exchanged
from einstellung.probes.audit.proxies import changed_row
from einstellung.probes.audit.transplants import Ints, PredictedImages, TransplantMap, foreign_donors, of_the_same_class
from einstellung.probes.audit.windows import mask_of, pasted
from einstellung.results.audit_files import ProxyRow

_PROXY = "replacement"


def replacement_rows(
    predicted: PredictedImages,
    searched: PredictedImages,
    found: TransplantMap,
    budget: float,
    draws: np.random.Generator,
) -> list[ProxyRow]:
    """Rows for every class, on other images than those that chose the window."""
    donors = foreign_donors(predicted.labels, draws)
    return [
        *_window_rows(predicted, searched, found, budget, donors),
        *_component_rows(predicted, donors),
        *_background_rows(predicted, donors, draws),
    ]


def _window_rows(
    predicted: PredictedImages, searched: PredictedImages, found: TransplantMap, budget: float, donors: Ints
) -> Iterator[ProxyRow]:
    """The window whose replacement by other classes' content costs a class most: replaced, inpainted, and in black."""
    height, width = predicted.images.shape[-2:]
    for label in predicted.classes:
        window = found.windows[int(found.miss(searched, label).argmax())]
        own = np.flatnonzero(predicted.labels == label)
        images = predicted.images[torch.from_numpy(own)]
        region, index = mask_of(window, len(own), height, width), torch.from_numpy(own)
        area = window[2] * window[3] / (height * width)
        for method, changed in (
            ("window of another class", pasted(images, predicted.images[torch.from_numpy(donors[own])], window)),
            ("the same window inpainted", cover("inpaint", images, region, index)),
            ("the same window in black", cover("black", images, region, index)),
        ):
            yield changed_row(predicted, label, own, changed, area, _PROXY, method, budget)


def _component_rows(predicted: PredictedImages, donors: Ints) -> Iterator[ProxyRow]:
    """Properties of the whole image; an image of one channel has no colour."""
    others = predicted.images[torch.from_numpy(donors)]
    coloured = predicted.images.shape[1] == 3
    for name, how in CONSTRUCTION.items():
        if coloured or name != "colour":
            area = _border_area(predicted.images) if name == "border" else 1.0
            yield from _every_class(predicted, exchanged(name, predicted.images, others), area, how)
    if coloured:
        permuted = predicted.images[:, [1, 2, 0]]
        yield from _every_class(predicted, permuted, 1.0, "colour channels permuted")


def _border_area(images: Tensor) -> float:
    """The share of the frame that is exchanged."""
    changed = exchanged("border", torch.zeros_like(images[:1]), torch.full_like(images[:1], 255)) > 0
    return float(changed[:, 0].float().mean())


def _background_rows(predicted: PredictedImages, donors: Ints, draws: np.random.Generator) -> Iterator[ProxyRow]:
    """The background of another image: of another class and, as a control, of the same."""
    if predicted.objects is None:
        return
    area = float((~predicted.objects).float().mean())
    for method, partners in (
        ("background of another class", donors),
        ("background of the same class", of_the_same_class(predicted.labels, draws)),
    ):
        yield from _every_class(predicted, other_backgrounds(predicted, partners), area, method)


def _every_class(predicted: PredictedImages, changed: Tensor, area: float, method: str) -> Iterator[ProxyRow]:
    for label in predicted.classes:
        own = np.flatnonzero(predicted.labels == label)
        yield changed_row(predicted, label, own, changed[torch.from_numpy(own)], area, _PROXY, method, area)
