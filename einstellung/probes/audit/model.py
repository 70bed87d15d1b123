"""Wrap any classifier for the audit: bytes in, probabilities out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.training.outputs import logits_of

Floats = npt.NDArray[np.float32]
_CHECKED = 16  # images that are shown twice
_DRIFT = 1e-3  # of a probability, between two passes over the same images; convolutions may round differently


@dataclass
class AuditedModel:
    """A classifier of uint8 images [N, C, H, W].

    ``forward`` turns normalised inputs into logits or into what holds them (see :func:`logits_of`), ``prepare`` bytes into
    inputs. ``images_seen`` counts the images evaluated; ``passes`` what it costs, in forward passes of one image, and
    ``on_pass`` is called whenever it grows.
    """

    name: str
    forward: Callable[[Tensor], Tensor]
    prepare: Callable[[Tensor], Tensor] = lambda images: images.float() / 255
    batch_size: int = 64
    net: nn.Module | None = None
    images_seen: int = field(default=0, compare=False)
    passes: float = field(default=0.0, compare=False)
    on_pass: Callable[[], object] = field(default=lambda: None, compare=False, repr=False)

    def logits(self, images: Tensor) -> Tensor:
        """[N, classes]; outputs of another shape, NaN and infinity are refused for whichever image."""
        self.images_seen += len(images)
        parts = []
        with torch.no_grad():
            for part in images.split(self.batch_size):
                parts.append(self._checked(logits_of(self.forward(self.prepare(part))), len(part)))
                self.passed(len(part))
        found = torch.cat(parts).float()
        finite = torch.isfinite(found).all(dim=1)
        if not bool(finite.all()):
            raise InputError(
                f"{self.name} returns NaN or infinite logits for {int((~finite).sum())} of {len(images)} images: it cannot be "
                "audited; check its weights and how its inputs are scaled"
            )
        return found

    def passed(self, count: float) -> None:
        """So many images went through the net."""
        self.passes += count
        self.on_pass()

    def probabilities(self, images: Tensor) -> Floats:
        """float32 [N, classes]."""
        found: Floats = self.logits(images).softmax(dim=1).numpy()
        return found

    def differentiable(self, images: Tensor) -> bool:
        """Whether gradients reach the input; attribution needs them."""
        inputs = self.prepare(images[:1]).detach().requires_grad_()
        try:
            with torch.enable_grad():
                logits = logits_of(self.forward(inputs))
                if not logits.requires_grad:
                    return False
                (slope,) = torch.autograd.grad(logits.max(), inputs, allow_unused=True)
        except (RuntimeError, NotImplementedError):
            return False
        return slope is not None and bool(torch.isfinite(slope).all())

    def check(self, images: Tensor, labels: Tensor) -> None:
        """Refuse a model that cannot be audited: too few outputs, or nondeterministic predictions."""
        some = images[torch.linspace(0, len(images) - 1, min(_CHECKED, len(images))).long()]
        first = self.logits(some)
        if int(labels.max()) >= first.shape[1]:
            raise InputError(
                f"{self.name} has {first.shape[1]} outputs, but the labels go up to {int(labels.max())}: give the labels in "
                "the order of its outputs, or another model"
            )
        again = self.logits(some)
        drift = float((first.softmax(1) - again.softmax(1)).abs().max())
        if drift > _DRIFT:
            raise InputError(
                f"{self.name} is not deterministic: its probabilities for the same images differ by {drift:.3f}; switch off "
                "dropout and other noise (net.eval())"
            )

    def _checked(self, logits: Tensor, count: int) -> Tensor:
        if not isinstance(logits, Tensor) or logits.ndim != 2 or len(logits) != count or logits.shape[1] < 2:
            shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            raise InputError(f"{self.name} gives {shape} for {count} images, not one row of logits (two or more) each")
        return logits.detach()
