"""A net's logits, the representation at each stage, and the activity of each unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.training.evaluation_mode import evaluation_mode

FloatArray = npt.NDArray[np.float32]
FEATURES = "features"
_CELLS = 4  # feature maps are averaged over a grid of 4 x 4 cells: small, and a cue's place is kept


@dataclass(frozen=True)
class Observation:
    """``logits`` [images, classes], ``layers`` [images, dimensions] and ``activity`` [units] (mean magnitude), by layer."""

    logits: FloatArray
    layers: dict[str, FloatArray]
    activity: dict[str, FloatArray]


def stages_of(net: nn.Module) -> dict[str, nn.Module]:
    """The stages that a net declares in a method ``stages()``; none where it has no such method.

    >>> from einstellung.backbones import ResNet18
    >>> list(stages_of(ResNet18(10, width=4)))
    ['stage 1', 'stage 2', 'stage 3', 'stage 4']
    """
    declared = getattr(net, "stages", None)
    return dict(declared()) if callable(declared) else {}


def head_of(net: nn.Module) -> nn.Linear:
    """The last linear layer: its inputs are the features."""
    layers = [layer for layer in net.modules() if isinstance(layer, nn.Linear)]
    if not layers:
        raise InputError(f"{type(net).__name__} has no linear layer, so there are no features to probe")
    return layers[-1]


def observe(net: nn.Module, batches: Iterable[Tensor], rows: npt.NDArray[np.bool_]) -> Observation:
    """Run a net on batches of inputs, in evaluation mode; its state and all generators are restored.

    ``rows``: of which images the representations are kept; logits and activity are those of all.
    """
    kept: dict[str, list[FloatArray]] = {}
    magnitudes: dict[str, Tensor] = {}
    logits, start = [], 0
    with evaluation_mode(net):
        for inputs in batches:
            wanted = torch.from_numpy(rows[start : start + len(inputs)])
            with _captured(net) as outputs:
                logits.append(net(inputs).float().cpu().numpy())
            for name, output in outputs.items():
                # a series' channels come first, a token's last
                if output.dim() == 3 and _is_of_series(stages_of(net).get(name)):
                    output = output.unsqueeze(2)
                kept.setdefault(name, []).append(_pooled(output[wanted.to(output.device)]).cpu().numpy())
                total = _magnitude(output) * len(inputs)
                magnitudes[name] = magnitudes[name] + total if name in magnitudes else total
            start += len(inputs)
    activity = {name: (total / start).cpu().numpy() for name, total in magnitudes.items()}
    return Observation(np.concatenate(logits), {name: np.concatenate(parts) for name, parts in kept.items()}, activity)


@contextmanager
def _captured(net: nn.Module) -> Iterator[dict[str, Tensor]]:
    """The outputs of the stages and the input of the head, while the net runs."""
    found: dict[str, Tensor] = {}

    def keep(name: str, _: nn.Module, __: Any, output: Tensor) -> None:
        found[name] = output.detach().float()

    def keep_input(_: nn.Module, args: tuple[Tensor, ...]) -> None:
        found[FEATURES] = args[0].detach().float()

    with ExitStack() as hooks:
        for name, stage in stages_of(net).items():
            hooks.enter_context(stage.register_forward_hook(partial(keep, name)))
        hooks.enter_context(head_of(net).register_forward_pre_hook(keep_input))
        yield found


def _pooled(output: Tensor) -> Tensor:
    """One vector per image: feature maps over 4 x 4 cells, of series over 4; for tokens, the first and the mean of the others."""
    if output.dim() == 4:
        side = (min(_CELLS, output.shape[2]), min(_CELLS, output.shape[3]))
        return F.adaptive_avg_pool2d(output, side).flatten(1)
    if output.dim() == 3 and output.shape[1] > 1:
        return torch.cat([output[:, 0], output[:, 1:].mean(dim=1)], dim=1)
    return output.flatten(1)


def _is_of_series(stage: nn.Module | None) -> bool:
    return stage is not None and any(isinstance(module, nn.Conv1d) for module in stage.modules())


def _magnitude(output: Tensor) -> Tensor:
    """The mean magnitude of each unit over images, and over positions or tokens: units are channels."""
    if output.dim() == 4:
        return output.abs().mean(dim=(0, 2, 3))
    return output.abs().flatten(0, -2).mean(dim=0)
