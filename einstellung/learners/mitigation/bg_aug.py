"""Background augmentation, BG Aug (Ryali, Schwab and Morcos, 2021; Xiao et al., 2021).

With probability p an image gets a background that is correlated with another class, and keeps its label: loss = CE(f(x~), y).
Needs: the type of shortcut, and a stream that can change an image's background. Differs from the Whac-A-Mole paper's code in
that targets come with their masks rather than from saliency maps, and in that half of the images are drawn in every
epoch rather than taken from two concatenated sets, which gives the same share. A changed image is made from the raw one, with
a crop and flip drawn by the method itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.learner import learners, option
from einstellung.learners.mitigation.augmented import ReplacingLearner, require_share
from einstellung.streams.stream import ImageSet

BACKGROUND = "background"


@dataclass(frozen=True)
class BGAugOptions:
    p: float = option(0.5, "the Whac-A-Mole paper's code: as many changed images as unchanged ones")

    def __post_init__(self) -> None:
        require_share("bg_aug", self, "p")


@learners.register("bg_aug")
class BackgroundAugmentation(ReplacingLearner):
    """Targets on a background of another class."""

    Options: ClassVar[type] = BGAugOptions
    method: ClassVar[str] = "bg_aug"
    needs_pictures: ClassVar[bool] = False

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        stream = self.context.presentation.stream
        if BACKGROUND not in stream.interventions:
            raise InputError(
                f"bg_aug needs a stream that can change an image's background; '{stream.name}' cannot: remove the method, or "
                "use a stream of composites"
            )
        self._background = stream.interventions[BACKGROUND]

    def replaced(self, images: ImageSet) -> Tensor:
        swapped = self._background.swapped(images, self.draws)
        return self.context.presentation.training(swapped, self.augmentation, self.cue)
