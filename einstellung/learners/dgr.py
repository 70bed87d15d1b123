"""Deep generative replay, DGR (Shin et al., 2017).

After a phase, a generator G is trained on the images seen so far, and a copy of the net is kept as the solver S of the past.
In phase t, with x' drawn from G, loss = 1/t CE(f(x), y) + (1 - 1/t) replay(f(x'), S(x')): ``targets = "hard"``, CE with the
class that S finds most likely among those of the earlier phases; ``"soft"``, T^2 CE(softmax(f(x') / T), softmax(S(x') / T)), S
limited to those classes and T^2 keeping the gradient's size (Hinton et al., 2015). The generator's own loss in phase t is
likewise 1/t on the phase's images and 1 - 1/t on images of the generator before.

Differs from the original in the generator: a variational autoencoder instead of a WGAN. It learns images with their cue but
without crop and flip; generated images are cropped and flipped like any training image, and no cue is painted on them.
Real and generated images have separate batch-norm statistics, as in two forward passes.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.learners.generators import AUTOENCODERS, VariationalAutoencoder, build_autoencoder
from einstellung.learners.learner import Batch, Learner, learners, option
from einstellung.learners.planning import Workload
from einstellung.modalities.transfer import to_device
from einstellung.randomness import generator
from einstellung.streams.stream import ImageSet, Phase

_PICTURES = 64
_STEP_COST = 2.3  # of a step with replay: a second batch, the solver's outputs, the generation
_GENERATOR_COST = 0.2  # of a step of the generator, against one of a narrow net


@dataclass(frozen=True)
class DGROptions:
    generator: str = option("conv", "ours; 'mlp': two layers of 400 units a side, van de Ven & Tolias (2018)")
    z: int = option(100, "the ERI experiment; van de Ven & Tolias (2018): size of the code")
    generator_epochs: int = option(10, "ours: enough for rough shapes with the right colours and positions")
    generator_batch: int = option(64, "ours")
    generator_lr: float = option(1e-3, "the ERI experiment: of Adam")
    targets: str = option("hard", "Shin et al. (2017); 'soft': van de Ven & Tolias (2018)")
    temperature: float = option(2.0, "the ERI experiment; van de Ven & Tolias (2018): of soft targets")

    def __post_init__(self) -> None:
        if self.generator not in AUTOENCODERS:
            raise InputError(f"learners.dgr.generator is '{self.generator}': give 'conv' or 'mlp'")
        if self.targets not in ("hard", "soft"):
            raise InputError(f"learners.dgr.targets is '{self.targets}': give 'hard' or 'soft'")
        for key in ("z", "generator_epochs", "generator_batch"):
            if getattr(self, key) < 1:
                raise InputError(f"learners.dgr.{key} is {getattr(self, key)}: it must be at least 1")
        for key in ("generator_lr", "temperature"):
            if not getattr(self, key) > 0:
                raise InputError(f"learners.dgr.{key} is {getattr(self, key)}: it must be above 0")


@dataclass(frozen=True)
class DGRWorkload(Workload):
    """Generated images in every step of a later phase, and the training of the generator."""

    def cost(self, options: DGROptions, sizes: Sequence[int], number: int) -> float:
        return 1.0 if number == 0 else _STEP_COST

    def closing_cost(self, options: DGROptions, size: int) -> float:
        return _GENERATOR_COST * options.generator_epochs * size


@learners.register("dgr")
class DeepGenerativeReplay(Learner):
    """Replay of generated images of earlier phases, labelled by a copy of the earlier net."""

    Options: ClassVar[type] = DGROptions
    workload: ClassVar[Workload] = DGRWorkload()
    modalities: ClassVar[tuple[str, ...]] = ("image",)  # its generator makes images

    @classmethod
    def shares_first_phase(cls, options: Any) -> bool:
        return True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        height, width = self.context.phases[0].train.images.shape[-2:]
        made = build_autoencoder(self.options.generator, height, width, self.options.z, self.context.seed)
        self.autoencoder = made.to(self.context.device)
        self.solver: nn.Module | None = None  # None until the end of the first phase, as the generator is untrained
        self._number = 1
        self._known = torch.zeros(0, dtype=torch.long)

    def begin_phase(self, phase: Phase) -> None:
        super().begin_phase(phase)
        earlier = self.context.earlier(phase)
        self._number = len(earlier) + 1
        known = sorted({label for other in earlier for label in other.classes})
        self._known = torch.tensor(known, dtype=torch.long, device=self.context.device)

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        self._draws = generator(self.context.seed, "generated", phase.name, epoch)
        self._augmentation = generator(self.context.seed, "replay-augmentation", phase.name, epoch)

    def observe(self, batch: Batch) -> Tensor:
        if self.solver is None:
            return self.step(self.cross_entropy(batch.inputs, batch.labels))
        inputs, targets = self.replay(self.solver, len(batch.labels))
        logits, replayed = self.logits_apart((batch.inputs, inputs))
        loss = F.cross_entropy(logits, batch.labels) / self._number
        return self.step(loss + (1 - 1 / self._number) * self.replay_loss(replayed, targets))

    @torch.no_grad()
    def replay(self, solver: nn.Module, count: int) -> tuple[Tensor, Tensor]:
        """Inputs from generated images, and the past solver's targets for them: classes or probabilities."""
        unknown = torch.full((count,), -1)
        drawn = ImageSet.without_cue(self.autoencoder.draw(count, self._draws), unknown, unknown)
        inputs = self.context.presentation.training(drawn, self._augmentation, None)
        with self.context.autocast():
            logits = solver(inputs).float()
        known = logits[:, self._known]
        if self.options.targets == "hard":
            return inputs, self._known[known.argmax(dim=1)]
        likely = (known / self.options.temperature).softmax(dim=1)
        return inputs, torch.zeros_like(logits).index_copy_(1, self._known, likely)

    def replay_loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        if self.options.targets == "hard":
            return F.cross_entropy(logits, targets)
        return self.options.temperature**2 * F.cross_entropy(logits / self.options.temperature, targets)

    def end_phase(self, phase: Phase) -> None:
        """Train the generator on all phases so far; a copy of the net becomes the solver of the past."""
        previous = None if self.solver is None else copy.deepcopy(self.autoencoder)
        self._train_generator(previous, phase)
        self.solver = self._frozen_net()

    def _train_generator(self, previous: VariationalAutoencoder | None, phase: Phase) -> None:
        """Always in single precision: such a small generator gains nothing from lower precision."""
        seed, size = self.context.seed, self.options.generator_batch
        share = 1 / (len(self.context.earlier(phase)) + 1)
        optimiser = torch.optim.Adam(self.autoencoder.parameters(), lr=self.options.generator_lr)
        for epoch in range(1, self.options.generator_epochs + 1):
            self.context.report_progress(f"generator epoch {epoch}/{self.options.generator_epochs}")
            order = torch.randperm(len(phase.train), generator=generator(seed, "generator-order", phase.name, epoch))
            cue, noise, draws = (
                generator(seed, purpose, phase.name, epoch)
                for purpose in ("generator-cue", "generator-noise", "generator-replay")
            )
            for rows in order.split(size):
                raw = phase.train.take(rows)
                loss = self._generator_loss(self.context.presentation.painted(raw.images, raw, cue), noise)
                if previous is not None:
                    replayed = self._generator_loss(previous.draw(len(rows), draws), noise)
                    loss = share * loss + (1 - share) * replayed
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                optimiser.step()
            _require_finite(float(loss.detach()), f"after epoch {epoch} of the generator of {phase.name}")

    def _generator_loss(self, pixels: Tensor, noise: torch.Generator) -> Tensor:
        images = to_device(pixels, self.context.device).float() / 255
        codes = to_device(torch.randn(len(images), self.options.z, generator=noise), self.context.device)
        return self.autoencoder.losses(images, codes).mean()

    def _frozen_net(self) -> nn.Module:
        return copy.deepcopy(self.net).eval().requires_grad_(False)

    def pictures(self) -> dict[str, Tensor]:
        if self.solver is None:
            return {}
        draws = generator(self.context.seed, "generated-pictures")
        return {"generated": self.autoencoder.draw(_PICTURES, draws).cpu()}

    def state_dict(self) -> dict[str, Any]:
        if self.solver is None:
            return {}
        return {"generator": self.autoencoder.state_dict(), "solver": self.solver.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if not state:
            return
        self.autoencoder.load_state_dict(state["generator"])
        self.solver = self._frozen_net()
        self.solver.load_state_dict(state["solver"])


def _require_finite(loss: float, where: str) -> None:
    if not math.isfinite(loss):
        raise FloatingPointError(f"the loss is {loss} {where}: lower learners.dgr.generator_lr")
