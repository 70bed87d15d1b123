"""Counterfactual and factual augmentation, CF+F Aug (Chang, Adam and Goldenberg, 2021).

From the target's box, two more images of every x: the factual image x_f keeps the box and replaces everything outside it by a
random colour with noise; the counterfactual image x_c has the box filled with the colour that is 0 after normalisation.
loss = CE(f(x), y) + CE(f(x_f), y) + CE(f(x_c), not y), all three in one pass. For two
classes, 'not y' is the other class; for more, every other class that is known so far has an equal share of the label.
The colour is uniform in [0, 1] per channel, one for an image; the noise is N(0, .2) per value, the sum is cut to [0, 1].
Needs: the type of shortcut (that it lies outside the target), and where the target is. Differs from the Whac-A-Mole paper's
code in the box, which is an image's own and not the middle quarter of every one, and in what more than two classes mean.
x, x_f and x_c are one crop and flip of the raw image, drawn by the method itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.learner import Batch, learners, option
from einstellung.learners.mitigation.augmented import AugmentedLearner
from einstellung.learners.planning import Workload
from einstellung.modalities import crop_and_flip
from einstellung.streams.stream import ImageSet, Phase


@dataclass(frozen=True)
class CFFAugOptions:
    noise: float = option(0.2, "the Whac-A-Mole paper's code")

    def __post_init__(self) -> None:
        if not self.noise >= 0:
            raise InputError(f"learners.cff_aug.noise is {self.noise}: it must be at least 0")


def within(boxes: Tensor, height: int, width: int) -> Tensor:
    """Which pixels lie in a box (top, left, bottom, right; the last two not within): bool [N, 1, H, W].

    >>> within(torch.tensor([[0, 1, 2, 3]]), 2, 4)[0, 0].int().tolist()
    [[0, 1, 1, 0], [0, 1, 1, 0]]
    """
    top, left, bottom, right = boxes.view(-1, 4, 1, 1, 1).unbind(1)
    rows, cols = torch.arange(height).view(-1, 1), torch.arange(width)
    return (rows >= top) & (rows < bottom) & (cols >= left) & (cols < right)


@learners.register("cff_aug")
class CounterfactualAndFactual(AugmentedLearner):
    """The target without its background keeps its label; the background without the target loses it."""

    Options: ClassVar[type] = CFFAugOptions
    workload: ClassVar[Workload] = Workload(step_cost=3.0)  # three views
    method: ClassVar[str] = "cff_aug"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        stream = self.context.presentation.stream
        if stream.target_boxes is None:
            raise InputError(
                f"cff_aug needs the target's place in every image; the stream '{stream.name}' does not have it: "
                "remove the method, or use a stream of composites"
            )
        self._boxes = stream.target_boxes

    def begin_phase(self, phase: Phase) -> None:
        super().begin_phase(phase)
        known = {label for one in (*self.context.earlier(phase), phase) for label in one.classes}
        if len(known) < 2:
            raise InputError(f"cff_aug flips labels, but in {phase.name} only one class is known")
        self._known = torch.tensor(sorted(known), device=self.context.device)

    def objective(self, batch: Batch) -> Tensor:
        inputs = torch.cat(self.views(batch.raw))
        with self.context.autocast():
            plain, factual, counterfactual = self.net(inputs).float().chunk(3)
        kept = F.cross_entropy(plain, batch.labels) + F.cross_entropy(factual, batch.labels)
        return kept + F.cross_entropy(counterfactual, self._flipped(batch.labels, plain.shape[1]))

    def views(self, images: ImageSet) -> tuple[Tensor, Tensor, Tensor]:
        """The images as they are, with the target alone, and without it."""
        presentation = self.context.presentation
        stream, (height, width) = presentation.stream, images.images.shape[-2:]
        # the box goes through crop and flip as one more channel of its image
        box = within(self._boxes(images), height, width).to(torch.uint8)
        both = torch.cat((images.images, box), dim=1)
        pixels, box = crop_and_flip(both, stream.crop_padding, stream.flip, self.augmentation).split((3, 1), dim=1)
        pixels = presentation.painted(pixels, images, self.cue)
        colour = torch.rand(len(pixels), 3, 1, 1, generator=self.draws)
        noise = self.options.noise * torch.randn(pixels.shape, generator=self.draws)
        surroundings = 255 * (colour + noise).clamp(0, 1)
        mean = 255 * torch.tensor(stream.mean).view(1, 3, 1, 1)
        inside = box.bool()
        factual = torch.where(inside, pixels, surroundings)
        without = torch.where(inside, mean, pixels)
        return presentation.normalised(pixels), presentation.normalised(factual), presentation.normalised(without)

    def _flipped(self, labels: Tensor, n_outputs: int) -> Tensor:
        """Equal shares for every known class but an image's own."""
        known = torch.zeros(n_outputs, device=labels.device).index_fill(0, self._known, 1.0)
        others = known.repeat(len(labels), 1).scatter(1, labels.unsqueeze(1), 0.0)
        return others / others.sum(dim=1, keepdim=True)
