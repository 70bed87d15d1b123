"""Spectral decoupling, SD (Pezeshki et al., 2021).

loss = CE(f(x), y) + strength mean f(x)^2, the mean being over all logits of all images of a batch: the features learned
first do not grow without bound, so that the gradient does not vanish before weaker features are learned.
Needs: nothing. Differs from the original, strength / 2 |f(x)|^2, in the constant, and in that the study's
weight decay is kept (the authors remove it). The authors' and the Whac-A-Mole paper's code penalise only the logit of the
image's own class, mean_i f(x_i)_{y_i}^2 (``logits = "label"``), which lets a net push the other classes' logits down without
bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch.nn.functional as F
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.learner import Batch, Learner, learners, option


@dataclass(frozen=True)
class SDOptions:
    strength: float = option(0.1, "the Whac-A-Mole paper's code")
    logits: Literal["all", "label"] = option("all", "the method's formula; 'label': the authors' code, own class only")

    def __post_init__(self) -> None:
        if not self.strength >= 0:
            raise InputError(f"learners.sd.strength is {self.strength}: it must be at least 0")


@learners.register("sd")
class SpectralDecoupling(Learner):
    """Cross entropy with a penalty on large logits."""

    Options: ClassVar[type] = SDOptions
    combines: ClassVar[bool] = True

    def objective(self, batch: Batch) -> Tensor:
        with self.context.autocast():
            logits = self.net(batch.inputs).float()
        priced = logits if self.options.logits == "all" else logits.gather(1, batch.labels.unsqueeze(1))
        price: Tensor = self.options.strength * priced.square().mean()
        return F.cross_entropy(logits, batch.labels) + price
