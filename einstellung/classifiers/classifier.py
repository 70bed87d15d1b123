"""A trained image classifier with its preprocessing, and the same net as a feature extractor."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor, nn

from einstellung.classifiers.preprocessing import Preprocessing
from einstellung.errors import InputError
from einstellung.files import digest

_BATCH = 8  # on a CPU larger batches take twice the time per image: their activations do not fit into the cache
_NOT_THE_LAST = (
    "{name}: its logits are not the output of its last linear layer (torch.nn.Linear), so it cannot be replaced"
)


@dataclass(frozen=True)
class Classifier:
    """Bytes in, logits out. ``weights`` is a hash of the net's weights."""

    name: str
    net: nn.Module = field(repr=False)
    preprocessing: Preprocessing
    classes: int
    weights: str

    @property
    def size(self) -> int:
        """The side of the images that :meth:`logits` expects."""
        return self.preprocessing.size

    @property
    def digest(self) -> str:
        """A hash of weights and preprocessing."""
        return digest([self.weights, self.preprocessing.facts()])

    def prepare(self, picture: Image.Image) -> Tensor:
        """uint8 [3, size, size]: resized and cropped, not normalised."""
        return self.preprocessing.prepare(picture)

    @torch.no_grad()
    def logits(self, images: Tensor) -> Tensor:
        """float32 [N, classes] of uint8 [N, 3, size, size]."""
        return torch.cat([self._forward(part) for part in images.split(_BATCH)])

    def _forward(self, images: Tensor) -> Tensor:
        inputs = self.preprocessing.normalised(images).contiguous(memory_format=torch.channels_last)
        logits = self.net(inputs)
        if not isinstance(logits, Tensor) or logits.shape != (len(images), self.classes):
            shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            raise InputError(f"{self.name} gives {shape} for {len(images)} images, not {self.classes} logits each")
        return logits.float()


@dataclass(frozen=True)
class Extractor:
    """A classifier's features: the input of its last layer."""

    classifier: Classifier

    @property
    def name(self) -> str:
        return self.classifier.name

    @property
    def size(self) -> int:
        """The side of the net's input."""
        return self.classifier.size

    @property
    def digest(self) -> str:
        return self.classifier.digest

    @property
    def last_layer(self) -> nn.Linear:
        """The trained linear layer on top of the features."""
        return last_linear(self.classifier.net, self.name)

    @property
    def width(self) -> int:
        """The number of features per image."""
        return self.last_layer.in_features

    @torch.no_grad()
    def check(self) -> None:
        """Refuse a net whose logits are not exactly its last layer's output for the features."""
        image = torch.arange(3 * self.size**2).remainder(251).to(torch.uint8).view(1, 3, self.size, self.size)
        with capture_inputs(self.last_layer) as captured:
            logits = self.classifier.logits(image)
        if (
            len(captured) != 1
            or captured[0].shape != (1, self.width)
            or self.last_layer.out_features != logits.shape[1]
        ):
            raise InputError(_NOT_THE_LAST.format(name=self.name))
        recomputed = self.last_layer(captured[0]).float()
        if not torch.allclose(recomputed, logits, rtol=1e-3, atol=1e-3):
            raise InputError(_NOT_THE_LAST.format(name=self.name))

    @torch.no_grad()  # not inference_mode: the features may be trained on
    def features(self, images: Tensor) -> Tensor:
        """float32 [N, width] of uint8 [N, 3, H, W]; images of another size are resized."""
        with capture_inputs(self.last_layer) as captured:
            for part in images.split(_BATCH):
                self.classifier._forward(self._resized(part))
        features = torch.cat(captured)
        if features.shape != (len(images), self.width):
            raise InputError(
                f"the last layer of {self.name} gets {tuple(features.shape)} for {len(images)} images: "
                "it must get one vector per image"
            )
        return features.float()

    def _resized(self, images: Tensor) -> Tensor:
        if images.shape[-2:] == (self.size, self.size):
            return images
        resized = F.interpolate(images.float(), (self.size, self.size), mode="bicubic", antialias=True)
        return resized.round().clamp(0, 255).to(torch.uint8)


def last_linear(net: nn.Module, name: str) -> nn.Linear:
    """The net's classification layer: the last :class:`torch.nn.Linear` in module order.

    >>> last_linear(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), "a net").in_features
    3
    """
    layers = [module for module in net.modules() if isinstance(module, nn.Linear)]
    if not layers:
        raise InputError(f"{name} has no linear layer (torch.nn.Linear): its last layer cannot be found")
    return layers[-1]


@contextmanager
def capture_inputs(layer: nn.Linear) -> Iterator[list[Tensor]]:
    """Record the inputs of ``layer`` within the context, in order."""
    captured: list[Tensor] = []
    hook = layer.register_forward_pre_hook(lambda _, args: captured.append(args[0].detach()))
    try:
        yield captured
    finally:
        hook.remove()


def state_digest(net: nn.Module) -> str:
    """A hash of all weights and buffers of a net, by name.

    >>> state_digest(nn.Identity())[:16]
    'e3b0c44298fc1c14'
    """
    content = hashlib.sha256()
    for name, value in sorted(net.state_dict().items()):
        content.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        content.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return content.hexdigest()
