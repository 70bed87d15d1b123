"""A trained image classifier with its own preprocessing, and the same net as an extractor of features."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor, nn

from einstellung.classifiers.last_layer import last_linear, listening
from einstellung.classifiers.preprocessing import Preprocessing
from einstellung.errors import InputError
from einstellung.files import digest

_BATCH = 8  # on a CPU larger ones take twice the time an image: their activations leave the cache
_NOT_THE_LAST = (
    "{name}: its logits are not what its last linear layer (torch.nn.Linear) gives: no layer can be put in its place"
)


@dataclass(frozen=True)
class Classifier:
    """Bytes in, logits out. ``weights``: a hash of what the net was filled with."""

    name: str
    net: nn.Module = field(repr=False)
    preprocessing: Preprocessing
    classes: int
    weights: str

    @property
    def size(self) -> int:
        """The side of the images that :meth:`logits` takes."""
        return self.preprocessing.size

    @property
    def digest(self) -> str:
        """Other weights or another preprocessing are another classifier."""
        return digest([self.weights, self.preprocessing.facts()])

    def prepare(self, picture: Image.Image) -> Tensor:
        """uint8 [3, size, size]: resized and cropped, and not yet normalised."""
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
    """What a classifier gives to its last layer."""

    classifier: Classifier

    @property
    def name(self) -> str:
        return self.classifier.name

    @property
    def size(self) -> int:
        """The side to which images are resized."""
        return self.classifier.size

    @property
    def digest(self) -> str:
        return self.classifier.digest

    @property
    def last_layer(self) -> nn.Linear:
        """The trained layer on top of the features."""
        return last_linear(self.classifier.net, self.name)

    @property
    def width(self) -> int:
        """Features of an image."""
        return self.last_layer.in_features

    @torch.no_grad()
    def check(self) -> None:
        """The logits must be what the last layer makes of the features: nothing may come after it or beside it."""
        image = torch.arange(3 * self.size**2).remainder(251).to(torch.uint8).view(1, 3, self.size, self.size)
        with listening(self.last_layer) as heard:
            logits = self.classifier.logits(image)
        if len(heard) != 1 or heard[0].shape != (1, self.width) or self.last_layer.out_features != logits.shape[1]:
            raise InputError(_NOT_THE_LAST.format(name=self.name))
        made = self.last_layer(heard[0]).float()
        if not torch.allclose(made, logits, rtol=1e-3, atol=1e-3):
            raise InputError(_NOT_THE_LAST.format(name=self.name))

    @torch.no_grad()  # not inference_mode: what comes out may be learned from
    def features(self, images: Tensor) -> Tensor:
        """float32 [N, width] of uint8 [N, 3, H, W], which are resized to the net's size where they have another one."""
        with listening(self.last_layer) as heard:
            for part in images.split(_BATCH):
                self.classifier._forward(self._resized(part))
        features = torch.cat(heard)
        if features.shape != (len(images), self.width):
            raise InputError(
                f"the last layer of {self.name} is given {tuple(features.shape)} for {len(images)} images: "
                "one vector an image is needed"
            )
        return features.float()

    def _resized(self, images: Tensor) -> Tensor:
        if images.shape[-2:] == (self.size, self.size):
            return images
        resized = F.interpolate(images.float(), (self.size, self.size), mode="bicubic", antialias=True)
        return resized.round().clamp(0, 255).to(torch.uint8)


def state_digest(net: nn.Module) -> str:
    """A hash of all weights and buffers of a net by name.

    >>> state_digest(nn.Identity())[:16]
    'e3b0c44298fc1c14'
    """
    content = hashlib.sha256()
    for name, value in sorted(net.state_dict().items()):
        content.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        content.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return content.hexdigest()
