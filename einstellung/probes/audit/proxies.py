"""The masks of the paper's proxies (section VI-A): importance maps of one half of the images, applied to the other half.

Each class has one map. Its mask is the share of pixels with the largest importance, so that its area is fixed beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy import cluster
from torch import Tensor

from einstellung.cues import cover
from einstellung.metrics.proportions import paired_difference_interval
from einstellung.metrics.statistics import summarise
from einstellung.probes.audit.model import AuditedModel, Floats
from einstellung.probes.audit.proxy_controls import controls_of
from einstellung.probes.audit.transplants import Doubles, Ints, PredictedImages
from einstellung.probes.audit.windows import Box, grid, mask_of
from einstellung.results.audit_files import ProxyRow

IMAGES_PER_CLASS = 10  # whose maps are averaged
_STEPS = 8  # of the path that gradients are integrated along
_POOLED = 8  # maps are compared at 8x8
PASSES = {"integrated gradients": 3 * _STEPS, "gradient x input": 3}  # per image: one back costs about two forward
ATTRIBUTIONS = tuple(PASSES)


@dataclass(frozen=True)
class ImportanceMaps:
    """[H, W] by class, and by class the maps of single images [N, H, W] and their rows."""

    proxy: str
    method: str
    maps: dict[int, Doubles]
    single: dict[int, Doubles]
    rows: dict[int, Ints]


def some_of_each(labels: Ints, draws: np.random.Generator) -> Ints:
    """At most :data:`IMAGES_PER_CLASS` images of every class."""
    parts = [draws.permutation(np.flatnonzero(labels == label))[:IMAGES_PER_CLASS] for label in np.unique(labels)]
    return np.sort(np.concatenate(parts))


def occlusion_maps(predicted: PredictedImages, side: int, draws: np.random.Generator) -> ImportanceMaps:
    """Slide a grey square over some images: a pixel's importance is the label's mean loss of probability under squares on it."""
    chosen = some_of_each(predicted.labels, draws)
    some = predicted.take(chosen)
    height, width = some.images.shape[-2:]
    total, count = np.zeros((len(some), height, width)), np.zeros((height, width))
    rows = np.arange(len(some))
    for box in grid(height, width, side):
        top, left, tall, wide = box
        hidden = cover("mean", some.images, mask_of(box, len(some), height, width), torch.from_numpy(rows))
        loss = some.before[rows, some.labels] - some.model.probabilities(hidden)[rows, some.labels]
        total[:, top : top + tall, left : left + wide] += loss[:, None, None]
        count[top : top + tall, left : left + wide] += 1
    return _by_class("occlusion", "sliding square, mean colour", total / count, some.labels, chosen)


def attribution_maps(predicted: PredictedImages, method: str, draws: np.random.Generator) -> ImportanceMaps | None:
    """Absolute attributions of the label's logit, summed over channels (captum); None where gradients are not finite."""
    chosen = some_of_each(predicted.labels, draws)
    some = predicted.take(chosen)
    parts = []
    for images, labels in zip(some.images.split(32), np.split(some.labels, range(32, len(some), 32)), strict=True):
        parts.append(_attributed(predicted.model, images, torch.from_numpy(labels), method))
        predicted.model.passed(len(images) * PASSES[method])
    maps = torch.cat(parts).double().numpy()
    return _by_class("attribution", method, maps, some.labels, chosen) if np.isfinite(maps).all() else None


def _attributed(model: AuditedModel, images: Tensor, labels: Tensor, method: str) -> Tensor:
    from captum.attr import InputXGradient, IntegratedGradients

    inputs = model.prepare(images).detach()
    with torch.enable_grad():
        if method == "gradient x input":
            found: Any = InputXGradient(model.forward).attribute(inputs.requires_grad_(), target=labels)
        else:
            grey = model.prepare(torch.full_like(images, 127)).detach()
            found = IntegratedGradients(model.forward).attribute(
                inputs, baselines=grey, target=labels, n_steps=_STEPS, internal_batch_size=64
            )
    values: Tensor = found.detach().abs().sum(dim=1)
    if values.shape[-2:] != images.shape[-2:]:  # inputs were enlarged
        values = F.adaptive_avg_pool2d(values.unsqueeze(1), (images.shape[-2], images.shape[-1])).squeeze(1)
    return values


def captum_missing() -> str | None:
    """Why attribution cannot run; None where it can."""
    try:
        import captum.attr  # noqa: F401
    except (ImportError, RuntimeError) as error:
        return f"attribution was skipped: captum cannot be imported ({error}); pip install 'einstellung[audit]'"
    return None


def _by_class(proxy: str, method: str, maps: Doubles, labels: Ints, rows: Ints) -> ImportanceMaps:
    scale = np.abs(maps).sum(axis=(1, 2), keepdims=True)
    shares = np.divide(maps, scale, out=np.zeros_like(maps), where=scale > 0)
    classes = np.unique(labels).tolist()
    return ImportanceMaps(
        proxy,
        method,
        {label: shares[labels == label].mean(axis=0) for label in classes},
        {label: shares[labels == label] for label in classes},
        {label: rows[labels == label] for label in classes},
    )


def mask_within(importance: Doubles, budget: float) -> Tensor:
    """bool [1, 1, H, W]: the share ``budget`` of pixels with the largest importance.

    >>> mask_within(np.array([[3.0, 1.0], [2.0, 0.0]]), 0.5)[0, 0].int().tolist()
    [[1, 0], [1, 0]]
    """
    count = max(1, round(budget * importance.size))
    mask = np.zeros(importance.size, dtype=bool)
    mask[np.argsort(-importance, axis=None, kind="stable")[:count]] = True
    return torch.from_numpy(mask.reshape(1, 1, *importance.shape))


def proxy_rows(
    predicted: PredictedImages, found: ImportanceMaps, budgets: Sequence[float], draws: np.random.Generator
) -> list[ProxyRow]:
    """Accuracy lost under each class's mask in black, on images that did not make the map, with the three controls."""
    rows = []
    for budget in budgets:
        for label, importance in found.maps.items():
            mask = mask_within(importance, budget)
            own = np.flatnonzero(predicted.labels == label)
            changed = predicted.images[torch.from_numpy(own)].masked_fill(mask, 0)
            area = float(mask.float().mean())
            row = changed_row(predicted, label, own, changed, area, found.proxy, found.method, budget)
            rows.append(row.model_copy(update=controls_of(predicted, label, mask, draws)))
    return rows


def changed_row(
    predicted: PredictedImages,
    label: int,
    own: Ints,
    changed: Tensor,
    area: float,
    proxy: str,
    method: str,
    budget: float,
) -> ProxyRow:
    """Accuracy that the rows ``own`` of a class lose if their images are changed, in the model and in its baseline."""
    lost = _lost(predicted.before[own], predicted.model.probabilities(changed), label)
    compared: dict[str, Any] = {}
    if predicted.baseline is not None:
        model, before = predicted.baseline
        other = _lost(before[own], model.probabilities(changed), label)
        difference = lost - other
        compared = {
            "delta_baseline": float(other.mean()),
            "sfr_rel": float(difference.mean()),
            "sfr_rel_ci95": summarise(difference.tolist(), (-1.0, 1.0)).ci95,
        }
    return ProxyRow(
        proxy=proxy,  # type: ignore[arg-type]
        method=method,
        label=label,
        budget=budget,
        area=area,
        delta=float(lost.mean()),
        ci95=paired_difference_interval(int((lost > 0).sum()), int((lost < 0).sum()), len(own)),
        n=len(own),
        **compared,
    )


def _lost(before: Floats, after: Floats, label: int) -> Doubles:
    """Correct predictions lost (1) or gained (-1), by image."""
    return np.asarray((before.argmax(axis=1) == label) * 1.0 - (after.argmax(axis=1) == label))


def windows_of(found: ImportanceMaps, side: int) -> list[tuple[int, Box, str]]:
    """Per class, the windows that its maps rate higher than those of other classes do: one for each kind of map."""
    classes = list(found.maps)
    height, width = next(iter(found.maps.values())).shape
    windows = grid(height, width, side)
    within = {label: _sums(found.maps[label][None], windows)[0] for label in classes}
    floor = np.quantile(np.stack(list(within.values())), 0.25, axis=0)
    seen = []
    for label in classes:
        for members in kinds_of_maps(found.single[label]):
            sums = _sums(found.single[label][members].mean(axis=0)[None], windows)[0]
            seen.append((label, windows[int((sums - floor).argmax())], found.proxy))
    return seen


def _sums(maps: Doubles, windows: Sequence[Box]) -> Doubles:
    return np.stack(
        [maps[:, top : top + tall, left : left + wide].sum(axis=(1, 2)) for top, left, tall, wide in windows], axis=1
    )


def kinds_of_maps(maps: Doubles) -> list[Ints]:
    """Groups of images with similar maps, as in SpRAy: spectral clustering where the eigengap indicates two groups.

    >>> one, other = np.zeros((6, 8, 8)), np.zeros((6, 8, 8))
    >>> one[:, 0, 0], other[:, 7, 7] = 1, 1
    >>> sorted(len(group) for group in kinds_of_maps(np.concatenate([one, other])))
    [6, 6]
    """
    everything = [np.arange(len(maps))]
    if len(maps) < 6:
        return everything
    pooled = F.adaptive_avg_pool2d(torch.from_numpy(maps).unsqueeze(1), _POOLED).flatten(1).numpy()
    norm = np.linalg.norm(pooled, axis=1, keepdims=True)
    unit = np.divide(pooled, norm, out=np.zeros_like(pooled), where=norm > 0)
    alike = np.clip(unit @ unit.T, 0, None)
    degree = alike.sum(axis=1)
    if not degree.all():  # maps without any importance are similar to no other
        return everything
    normed = alike / np.sqrt(np.outer(degree, degree))
    values, vectors = np.linalg.eigh(np.eye(len(maps)) - normed)
    gaps = np.diff(values[:5])
    if int(gaps.argmax()) != 1:  # the largest gap behind the second eigenvalue: two groups
        return everything
    _, group = cluster.vq.kmeans2(vectors[:, :2], 2, seed=0, minit="++")
    return [np.flatnonzero(group == number) for number in (0, 1) if (group == number).any()]
