"""The guide's attention analyzer: a vision transformer's attention, batch by batch, while it is trained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.guide.attention_figure import KINDS, draw_comparison, suffix_of
from einstellung.metrics.attention import FloatArray, attention_gain, map_similarity
from einstellung.probes.attention import AttentionAdapter, AttentionProbe, AttentionSummary
from einstellung.registry import suggestion
from einstellung.timeline import KNOWN_SPLITS, SC_CLEAN, SC_PATCH

MOST_ROWS = 4
_PARTS = ("heads", "layers", "rollout")
_Shares = tuple[FloatArray, FloatArray, FloatArray]  # per head, per layer, rolled out


class EinstellungAttentionAnalyzer:
    """AS, SAG, CTAS and ADI of batches, per head, per layer and rolled out. The model and its outputs do not change.

    ``mean`` and ``std`` are those the inputs were normalised with, per channel: pictures are then shown in their own colours;
    without them each is stretched over its own range. ``adapter``: how attention is found in a model of your own.

    >>> from einstellung.backbones import VisionTransformer
    >>> analyzer = EinstellungAttentionAnalyzer(VisionTransformer(10, dim=12, depth=1), "cpu")
    >>> metrics = analyzer.analyze_einstellung_attention_batch(torch.rand(2, 3, 32, 32), "T2_shortcut_normal", epoch=1)
    >>> metrics["n"], metrics["boxed"], metrics["SAG"], metrics["why_undefined"]["SAG"]
    (2, False, None, 'no cue region was given')
    """

    def __init__(
        self,
        model: nn.Module,
        device: torch.device | str | None = None,
        *,
        adapter: AttentionAdapter | str | None = None,
        batch_size: int = 50,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
    ) -> None:
        if (mean is None) != (std is None):
            raise InputError("mean and std go together: give both, or neither")
        _check_device(model, device)
        self.probe = AttentionProbe(model, adapter, batch_size)
        self.mean, self.std = mean, std
        self._maps: dict[tuple[int, str], dict[float, _Mean]] = {}
        self._clean: dict[tuple[int | None, float], _Mean] = {}

    def analyze_einstellung_attention_batch(
        self,
        inputs: Tensor,
        subset_name: str,
        epoch: float,
        *,
        region: Tensor | None = None,
        task_id: int | None = None,
    ) -> dict[str, Any]:
        """The metrics of one batch as plain values; what is undefined is None, with its reason in ``why_undefined``.

        ``inputs`` [B, 3, H, W] as the model takes them. ``region``, bool [B, 1, H, W], is where the cue is (or would be): with
        it AS is the share of attention inside, without it minus the entropy. ``task_id`` is the task being trained, 0 for T1.
        SAG of T2_shortcut_normal compares with all images of T2_shortcut_clean that were analysed before at the same epoch;
        CTAS with the mean map of the same subset at the last epoch of an earlier task.
        """
        if subset_name not in KNOWN_SPLITS:
            raise InputError(f"unknown subset '{subset_name}': {suggestion(str(subset_name), KNOWN_SPLITS)}")
        summary = self.probe.summarise([(inputs, region)])
        shares = _shares(summary)
        reasons: dict[str, str] = {}
        spread = shares or tuple(-np.asarray(getattr(summary, f"entropy_{part}")) for part in _PARTS)
        result = {
            "subset": subset_name,
            "epoch": epoch,
            "task_id": task_id,
            "n": summary.n,
            "boxed": shares is not None,
            **_written("AS", spread),
            **_written("ADI", self._diversity(summary, reasons)),
            **_written("SAG", self._gain(subset_name, (task_id, float(epoch)), shares, reasons)),
            **_written("CTAS", self._similarity(subset_name, task_id, summary, reasons)),
            "why_undefined": reasons,
        }
        self._remember(subset_name, task_id, float(epoch), summary, shares)
        return result

    def visualize_einstellung_attention_comparison(
        self, normal_inputs: Tensor, shortcut_inputs: Tensor, masked_inputs: Tensor, save_path: Path | str
    ) -> Path:
        """Image, rolled-out attention and overlay of the first images of each batch, as PNG, SVG or PDF by the path's suffix."""
        suffix_of(save_path)  # before anything is computed
        groups = dict(zip(KINDS, (normal_inputs, shortcut_inputs, masked_inputs), strict=True))
        rows = min(MOST_ROWS, *(len(inputs) for inputs in groups.values()))
        if rows == 0:
            raise InputError("there is nothing to show: one of the three batches is empty")
        pictures = {name: self._pictures(inputs[:rows]) for name, inputs in groups.items()}
        maps = {name: self.probe.maps(inputs[:rows]).rollout.double().numpy() for name, inputs in groups.items()}
        return draw_comparison(pictures, maps, save_path)

    def _pictures(self, inputs: Tensor) -> FloatArray:
        """Colours from 0 to 1, [B, H, W, 3]."""
        images = inputs.detach().double().cpu()
        if self.mean is not None and self.std is not None:
            images = images * torch.tensor(self.std).view(-1, 1, 1) + torch.tensor(self.mean).view(-1, 1, 1)
        else:
            low, high = images.amin((1, 2, 3), keepdim=True), images.amax((1, 2, 3), keepdim=True)
            images = (images - low) / (high - low).clamp_min(1e-12)
        colours: FloatArray = images.clamp(0, 1).permute(0, 2, 3, 1).numpy()
        return colours

    def _diversity(self, summary: AttentionSummary, reasons: dict[str, str]) -> _Shares | None:
        values = [getattr(summary, f"diversity_{part}") for part in _PARTS]
        if any(value is None for value in values):
            reasons["ADI"] = "it needs at least two images"
            return None
        return _three(values)

    def _gain(
        self, subset: str, moment: tuple[int | None, float], shares: _Shares | None, reasons: dict[str, str]
    ) -> _Shares | None:
        if subset != SC_PATCH:
            reasons["SAG"] = f"it compares {SC_PATCH} with {SC_CLEAN}"
        elif shares is None:
            reasons["SAG"] = "no cue region was given"
        elif moment not in self._clean:
            reasons["SAG"] = f"{SC_CLEAN} has not been analysed with its region at this epoch"
        else:
            clean = self._clean[moment].mean
            return _three([attention_gain(cue, other) for cue, other in zip(shares, clean, strict=True)])
        return None

    def _similarity(
        self, subset: str, task_id: int | None, summary: AttentionSummary, reasons: dict[str, str]
    ) -> _Shares | None:
        if task_id is None:
            reasons["CTAS"] = "the current task was not given (task_id)"
            return None
        earlier = [task for task, name in self._maps if name == subset and task < task_id]
        if not earlier:
            reasons["CTAS"] = f"{subset} was not analysed in an earlier task"
            return None
        epochs = self._maps[max(earlier), subset]
        before = epochs[max(epochs)].mean
        return _three([map_similarity(one, other) for one, other in zip(_maps(summary), before, strict=True)])

    def _remember(
        self, subset: str, task_id: int | None, epoch: float, summary: AttentionSummary, shares: _Shares | None
    ) -> None:
        if task_id is not None:
            self._maps.setdefault((task_id, subset), {}).setdefault(epoch, _Mean()).add(_maps(summary), summary.n)
        if subset == SC_CLEAN and shares is not None:
            self._clean.setdefault((task_id, epoch), _Mean()).add(shares, summary.n)


class _Mean:
    """A mean over images that come in batches."""

    def __init__(self) -> None:
        self.n = 0
        self._sums: list[Any] = [0.0, 0.0, 0.0]

    def add(self, values: _Shares, n: int) -> None:
        self.n += n
        self._sums = [total + value * n for total, value in zip(self._sums, values, strict=True)]

    @property
    def mean(self) -> _Shares:
        return _three([total / self.n for total in self._sums])


def _shares(summary: AttentionSummary) -> _Shares | None:
    values = [getattr(summary, f"share_{part}") for part in _PARTS]
    return None if any(value is None for value in values) else _three(values)


def _maps(summary: AttentionSummary) -> _Shares:
    heads = summary.mean_map_heads
    return heads, heads.mean(axis=1), summary.mean_map_rollout


def _three(values: Sequence[Any]) -> _Shares:
    heads, layers, rollout = (np.asarray(value, dtype=np.float64) for value in values)
    return heads, layers, rollout


def _written(name: str, values: Any) -> dict[str, Any]:
    """Plain values: rolled out under the metric's own name, plus per layer and per head."""
    heads, layers, rollout = (None,) * 3 if values is None else (np.asarray(value).tolist() for value in values)
    return {name: rollout, f"{name}_layers": layers, f"{name}_heads": heads}


def _check_device(model: nn.Module, device: torch.device | str | None) -> None:
    """The model stays on its device: moving it is up to the caller."""
    first = next(model.parameters(), None)
    if device is None or first is None:
        return
    wanted = torch.device(device)
    if wanted.type != first.device.type or wanted.index not in (None, first.device.index):
        raise InputError(
            f"the model is on {first.device}, not on {wanted}: move it there first with model.to('{wanted}')"
        )
