"""Last layer ensemble, LLE (Li et al., 2023): a last layer for every kind of shift, and a layer that classifies the shift.

With z the features, h_d the last layer for shift d (0: the unchanged image; k: cue k swapped for that of another class)
and D the shift layer, a d is drawn for each image of a batch, all known ones equally likely, the image is changed
accordingly, and loss = mean CE(h_d(z), y) + mean CE(D(stop-gradient z), d). Test: sum_d softmax(D(z))_d h_d(z).

Needs: the type of shortcut (images in which the cue can be swapped), but no labels of it. ``known: by phase``: a shift is known
from the first phase that names its cue. Until then its layer is excluded from loss and test; then it starts with the weights of
the identity's layer, so that the net's outputs do not change. ``known: all``: all are known from the start.
Replayed images are swapped as well.
Differs from the authors' code in that the gradient of D is stopped, as the paper says (their published code does not), and in
that every image is seen once an epoch, with one d (there, as many pairs of image and d as there are images are drawn from all
pairs). All last layers begin as the net's own, D with zeros. A swap changes one cue alone, always to its other value (there, the
background and the co-object of random images are put in, of the other class for the cue that is swapped).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.last_layer import put_in_place
from einstellung.learners.learner import Batch, Learner, learners, option
from einstellung.learners.mitigation.heads import Ensemble
from einstellung.learners.planning import Workload
from einstellung.modalities.transfer import to_device
from einstellung.randomness import generator
from einstellung.streams.stream import Phase

_STEP_COST = 1.1  # some images are changed and augmented again; the layers cost next to nothing


@dataclass(frozen=True)
class LLEOptions:
    known: Literal["by phase", "all"] = option("by phase", "ours: the paper has one phase, in which all are known")


@learners.register("lle")
class LastLayerEnsemble(Learner):
    """Each last layer learns under one shift; a shift classifier on the features weighs them."""

    Options: ClassVar[type] = LLEOptions
    workload: ClassVar[Workload] = Workload(step_cost=_STEP_COST)
    combines: ClassVar[bool] = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        stream = self.context.presentation.stream
        if not stream.interventions:
            raise InputError(
                f"lle needs images in which a cue can be swapped; the stream '{stream.name}' has none: remove lle, or use a "
                "stream such as composites"
            )
        self.interventions = stream.interventions
        self.shifts = tuple(stream.interventions)  # of shift k + 1 the cue
        self.heads = put_in_place(
            self.net, stream.n_outputs, "lle", lambda layer: Ensemble(layer, 1 + len(self.shifts))
        )

    def begin_phase(self, phase: Phase) -> None:
        named = {cue for one in (*self.context.earlier(phase), phase) for cue in one.cues}
        self._known = [k for k, cue in enumerate(self.shifts, start=1) if self.options.known == "all" or cue in named]
        self.heads.know(self._known)
        super().begin_phase(phase)

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        seed = self.context.seed
        self._draws = generator(seed, "shift", phase.name, epoch)
        self._swaps = generator(seed, "shift-swap", phase.name, epoch)
        self._augmentation = generator(seed, "shift-augmentation", phase.name, epoch)
        self._cue = generator(seed, "shift-cue", phase.name, epoch)

    def objective(self, batch: Batch) -> Tensor:
        inputs, shifts = self.shifted(batch)
        with self.context.autocast():
            logits, shift_logits = self.heads.parts(self.heads.given_in(self.net, inputs))
        own = logits[torch.arange(len(shifts), device=shifts.device), shifts]
        return F.cross_entropy(own, batch.labels) + F.cross_entropy(shift_logits, shifts)

    def shifted(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The inputs of a batch with a shift drawn for every image, and the shifts."""
        possible = torch.tensor([0, *self._known])
        shifts = possible[torch.randint(len(possible), (len(batch.raw),), generator=self._draws)]
        inputs = batch.inputs.clone()
        for shift in self._known:
            rows = (shifts == shift).nonzero().flatten()
            if not len(rows):
                continue
            swapped = self.interventions[self.shifts[shift - 1]].swapped(batch.raw.take(rows), self._swaps)
            shown = self.context.presentation.training(swapped, self._augmentation, self._cue)
            inputs[to_device(rows, inputs.device)] = shown
        return inputs, to_device(shifts, inputs.device)
