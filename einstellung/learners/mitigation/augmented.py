"""What augmentation methods have in common: their own random draws, and views of a batch made from its raw images.

A method that changes the content of an image must do so between crop and normalisation, and cannot know the crop and flip of
the training loop. So it augments the raw images itself, with its own draws.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.learner import Batch, Learner
from einstellung.modalities.transfer import to_device
from einstellung.randomness import generator
from einstellung.streams.stream import ImageSet, Phase, Stream


class AugmentedLearner(Learner):
    """A learner with its own draws; ``method`` is the name of these and of the options.

    ``needs_pictures``: the method changes pixels, so it is refused where a stream shows features.
    """

    method: ClassVar[str]
    needs_pictures: ClassVar[bool] = True
    combines: ClassVar[bool] = True
    modalities: ClassVar[tuple[str, ...]] = ("image",)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        stream = self.context.presentation.stream
        if self.needs_pictures and not _shows_pictures(stream):
            shown = stream.facts.get("input_modality", "features")
            raise InputError(
                f"{self.method} changes pixels, but the stream '{stream.name}' provides {shown}: remove the method, or use a "
                "stream of pixels"
            )

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        seed = self.context.seed
        self.draws = generator(seed, self.method, phase.name, epoch)
        self.augmentation = generator(seed, f"{self.method}-augmentation", phase.name, epoch)
        self.cue = generator(seed, f"{self.method}-cue", phase.name, epoch)


def _shows_pictures(stream: Stream) -> bool:
    """A stream may show tables or features instead, and says so where it may."""
    seen = str(stream.facts.get("input_modality", "pixels"))
    return seen.startswith("pixels") and stream.phases[0].train.images.dtype == torch.uint8


class ReplacingLearner(AugmentedLearner):
    """Every image is replaced by a changed one with probability ``p`` of the options; loss = CE(f(x~), y).

    The other images of the batch stay as they are: p = 0 is plain training.
    """

    def objective(self, batch: Batch) -> Tensor:
        return self.cross_entropy(self.shown(batch), batch.labels)

    def shown(self, batch: Batch) -> Tensor:
        """The inputs of a batch with the chosen ones replaced."""
        chosen = torch.rand(len(batch.raw), generator=self.draws) < self.options.p
        rows = chosen.nonzero().flatten()
        if not len(rows):
            return batch.inputs
        inputs = batch.inputs.clone()
        inputs[to_device(rows, inputs.device)] = self.replaced(batch.raw.take(rows))
        return inputs

    def replaced(self, images: ImageSet) -> Tensor:
        """The changed images, as inputs."""
        raise NotImplementedError


def require_share(method: str, options: Any, *keys: str) -> None:
    """Refuse an option outside 0..1."""
    for key in keys:
        if not 0 <= getattr(options, key) <= 1:
            raise InputError(f"learners.{method}.{key} is {getattr(options, key)}: it must lie between 0 and 1")


def require_above_zero(method: str, options: Any, *keys: str) -> None:
    """Refuse an option that is not above 0."""
    for key in keys:
        if not getattr(options, key) > 0:
            raise InputError(f"learners.{method}.{key} is {getattr(options, key)}: it must be above 0")
