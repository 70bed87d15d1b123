"""Environment inference for invariant learning, EIIL (Creager, Jacobsen and Zemel, 2021), with group DRO.

Stage 1, ``identify``: plain training for ``identify_epochs`` gives the reference net. The phase's images are then divided into
two environments that break the reference net's invariance as much as can be. With m_i = sigmoid(u_i) how much image i belongs
to the first one, and d_i the derivative of CE(w f(x_i), y_i) with respect to the scale w at w = 1, which is sum_k p_k z_k - z_y
of its logits z, the IRMv1 penalty (Arjovsky et al., 2019) is raised by ``ascent_steps`` steps of Adam on u, from u ~ N(0, 1):

    max_u  sum over classes of 1/2 [ (mean m d)^2 + (mean (1 - m) d)^2 ],   means over the images of the class.

The first environment is where m > 1/2. Stage 2: the net is reset to the weights at the start of the phase, and learns by
group DRO (Sagawa et al., 2020) over class x environment, every group being drawn equally often: q_g <- q_g exp(step L_g),
q <- q / sum(q), loss = sum_g q_g L_g, L_g the mean cross entropy of group g in the batch.
Needs: nothing; the groups are inferred.

Differs from the original, as Whac-A-Mole's code does, in that the penalty is taken per class, and in what follows the inference
(invariant risk minimisation in the original's main experiment). The gradient in u is not left to automatic differentiation:
it is (a - b) d_i m_i (1 - m_i) / n, with a and b the two means and n the number of images of the class. The logits are of
images without augmentation, in Whac-A-Mole's code of augmented ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.learner import Batch, learners, option
from einstellung.learners.mitigation.gdro import GroupWeights
from einstellung.learners.mitigation.groups import balanced_batches
from einstellung.learners.mitigation.identities import Identities
from einstellung.learners.mitigation.reference import ReferenceOptions, TwoStageLearner
from einstellung.modalities.transfer import to_device
from einstellung.randomness import generator
from einstellung.streams.stream import Phase


@dataclass(frozen=True)
class EIILOptions(ReferenceOptions):
    method: ClassVar[str] = "eiil"
    ascent_steps: int = option(10_000, "Creager et al. (2021); the Whac-A-Mole authors' code")
    ascent_lr: float = option(1e-3, "Creager et al. (2021); the Whac-A-Mole authors' code: of Adam")
    step: float = option(0.01, "Sagawa et al. (2020); the Whac-A-Mole authors' code: of the groups' weights")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_at_least(1, "ascent_steps")
        self.require_at_least(0, "step")
        if not self.ascent_lr > 0:
            raise InputError(f"learners.eiil.ascent_lr is {self.ascent_lr}: it must be above 0")


@learners.register("eiil")
class EnvironmentInference(TwoStageLearner):
    """Group DRO over two environments in which a shortly trained net errs as differently as possible."""

    Options: ClassVar[type] = EIILOptions

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._weights: GroupWeights | None = None

    def infer(self, phase: Phase, logits: Tensor) -> Tensor:
        """The environment of an image, 0 or 1."""
        self.context.report_progress(f"environments of {phase.name}")
        draws = generator(self.context.seed, "environments", phase.name)
        labels, options = phase.train.labels, self.options
        return environments(scale_gradients(logits, labels), labels, options.ascent_steps, options.ascent_lr, draws)

    def begin_training(self, phase: Phase, inferred: Tensor) -> None:
        self._groups = 2 * phase.train.labels + inferred
        self._known = Identities(phase.train.index)
        self._weights = GroupWeights(int(self._groups.max()) + 1, self.options.step, self.context.device)
        self._weights.expect(to_device(self._groups, self.context.device))

    def batches(self, phase: Phase, epoch: int, size: int) -> Iterable[Tensor]:
        if self.identifies:
            return super().batches(phase, epoch, size)
        return balanced_batches(self._groups, size, generator(self.context.seed, "order", phase.name, epoch))

    def objective(self, batch: Batch) -> Tensor:
        if self._weights is None or self.identifies:
            return super().objective(batch)
        with self.context.autocast():
            losses = F.cross_entropy(self.net(batch.inputs).float(), batch.labels, reduction="none")
        groups = self._groups[self._known.rows(batch.raw.index)]
        return self._weights.weighted(losses, to_device(groups, losses.device))

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "weights": {} if self._weights is None else self._weights.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        if self._weights is not None and state["weights"]:
            self._weights.load_state_dict(state["weights"])


def scale_gradients(logits: Tensor, labels: Tensor) -> Tensor:
    """Per image, how the cross entropy changes with a common scale of the logits, at scale 1.

    >>> scale_gradients(torch.tensor([[0.0, 2.0], [0.0, 2.0]]), torch.tensor([1, 0]))  # 2 p_1 - z_y, p_1 = 0.8808
    tensor([-0.2384,  1.7616], dtype=torch.float64)
    """
    logits = logits.double()
    return (logits.softmax(dim=1) * logits).sum(dim=1) - logits.gather(1, labels.unsqueeze(1)).squeeze(1)


def environments(gradients: Tensor, labels: Tensor, steps: int, lr: float, draws: torch.Generator) -> Tensor:
    """0 or 1 per image: the environments in which the squared mean gradients, class by class, are as large as can be.

    >>> wrong, right = [1.5, 1.6], [-0.2, -0.1, -0.3]
    >>> found = environments(torch.tensor(wrong + right).double(), torch.zeros(5).long(), 4000, 1e-2, torch.Generator())
    >>> bool(found[0] == found[1] != found[2] == found[3] == found[4])
    True
    """
    u = torch.randn(len(labels), generator=draws, dtype=torch.float64)
    ascent = torch.optim.Adam([u], lr=lr, fused=True)
    sizes = torch.bincount(labels).clamp(min=1)
    share = gradients / sizes[labels]  # what an image adds to the mean of its class
    for _ in range(steps):
        belongs = u.sigmoid()
        # the mean over the first environment less that over the second one
        difference = torch.zeros(len(sizes), dtype=torch.float64).index_add_(0, labels, share * (2 * belongs - 1))
        u.grad = -difference[labels] * share * belongs * (1 - belongs)
        ascent.step()
    return (u > 0).long()
