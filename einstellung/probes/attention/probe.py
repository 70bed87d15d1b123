"""The class token's attention to an image's patches: per layer, per head and rolled out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.metrics.attention import token_shares
from einstellung.probes.attention.adapters import AttentionAdapter, attention_adapters
from einstellung.probes.attention.capture import Capture, inference
from einstellung.probes.attention.summary import AttentionSummary, SummaryBuilder
from einstellung.training.evaluation_mode import device_of


@dataclass(frozen=True)
class AttentionMaps:
    """``heads`` [B, L, H, gh, gw] and ``rollout`` [B, gh, gw]: each map sums to 1 over the patches."""

    heads: Tensor
    rollout: Tensor

    @property
    def grid(self) -> tuple[int, int]:
        rows, columns = self.rollout.shape[-2:]
        return rows, columns


class AttentionProbe:
    """Measures attention with forward hooks; neither the outputs of ``model`` nor its state change.

    ``adapter`` says how attention is found in the model: a name in ``attention_adapters``, an instance of your own, or None
    for the registered one that fits. Batches larger than ``batch_size`` are split.

    >>> from einstellung.backbones import VisionTransformer
    >>> probe = AttentionProbe(VisionTransformer(10, dim=12, depth=2))
    >>> maps = probe.maps(torch.zeros(1, 3, 32, 32))
    >>> maps.heads.shape, maps.rollout.shape
    (torch.Size([1, 2, 3, 8, 8]), torch.Size([1, 8, 8]))
    """

    def __init__(self, model: nn.Module, adapter: AttentionAdapter | str | None = None, batch_size: int = 50) -> None:
        if batch_size < 1:
            raise InputError(f"batch_size is {batch_size}: it must be at least 1")
        if isinstance(adapter, type):
            raise InputError(f"adapter is the class {adapter.__name__}: give an instance, {adapter.__name__}()")
        self.model = model
        self.adapter = adapter if isinstance(adapter, AttentionAdapter) else _adapter_for(model, adapter)
        self.batch_size = batch_size
        self.modules = self.adapter.modules(model)
        if not self.modules:
            raise InputError(f"{type(self.adapter).__name__} finds no attention in {type(model).__name__}")
        self.prefix_tokens = self.adapter.prefix_tokens(model)

    def maps(self, inputs: Tensor) -> AttentionMaps:
        """The maps of every image, on the CPU; ``inputs`` is the model's input [B, C, H, W]."""
        if inputs.dim() != 4 or not len(inputs):
            raise InputError(f"inputs have the shape {tuple(inputs.shape)}, not [images, channels, height, width]")
        parts = [self._maps(part) for part in inputs.split(self.batch_size)]
        return AttentionMaps(torch.cat([part.heads for part in parts]), torch.cat([part.rollout for part in parts]))

    def summarise(self, batches: Iterable[tuple[Tensor, Tensor | None]]) -> AttentionSummary:
        """A summary over batches of ``(inputs, region)``, with at most ``batch_size`` maps in memory.

        ``region`` is bool [B, 1, height, width], True where the cue is, in the resolution of the inputs or of the images before
        enlargement; None if there is no cue.
        """
        builder = SummaryBuilder()
        grid: tuple[int, int] | None = None
        for inputs, region in batches:
            if region is not None and (region.dim() != 4 or region.shape[:2] != (len(inputs), 1)):
                raise InputError(
                    f"a region has the shape {tuple(region.shape)}, not ({len(inputs)}, 1, height, width) as its images"
                )
            for start in range(0, len(inputs), self.batch_size):
                part = slice(start, start + self.batch_size)
                maps = self._maps(inputs[part])
                if grid not in (None, maps.grid):
                    raise InputError(f"images of one summary have grids of {grid} and {maps.grid}: give one size")
                grid = maps.grid
                box = None if region is None else token_shares(region[part, 0].cpu().numpy(), grid)
                builder.add(maps.heads.numpy(), maps.rollout.numpy(), box)
        if builder.n == 0:
            raise InputError("there are no images to measure the attention of")
        return builder.summary()

    def _maps(self, inputs: Tensor) -> AttentionMaps:
        capture = Capture(self.adapter, self.modules, self.prefix_tokens)
        with inference(self.model), capture.attached():
            self.model(inputs.to(device_of(self.model) or inputs.device))
        heads, rollout = capture.heads(), capture.rollout()
        grid = self.adapter.grid(rollout.shape[-1], *inputs.shape[-2:])
        return AttentionMaps(heads.unflatten(-1, grid).cpu(), rollout.unflatten(-1, grid).cpu())


def has_attention(model: nn.Module) -> bool:
    """Whether a registered adapter fits the model.

    >>> from einstellung.backbones import ResNet18, VisionTransformer
    >>> has_attention(ResNet18(10, width=4)), has_attention(VisionTransformer(10, depth=1))
    (False, True)
    """
    try:
        AttentionProbe(model)
    except InputError:
        return False
    return True


def _adapter_for(model: nn.Module, name: str | None) -> AttentionAdapter:
    names = attention_adapters.names() if name is None else [name]
    adapters = {each: attention_adapters[each]() for each in names}
    if name is not None:
        return adapters[name]
    fitting = [each for each, adapter in adapters.items() if adapter.modules(model)]
    if not fitting:
        raise InputError(f"{type(model).__name__} has no known attention: use a vision transformer, or give an adapter")
    if len(fitting) > 1:
        raise InputError(f"{type(model).__name__} fits several adapters: choose adapter= from {', '.join(fitting)}")
    return adapters[fitting[0]]
