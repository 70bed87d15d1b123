"""Two-stage methods: a short plain training whose predictions shape a second training from the same weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.learner import Learner, Stage, option
from einstellung.learners.planning import TRAIN
from einstellung.streams.stream import ImageSet, Phase

IDENTIFY = "identify"
_CHUNK = 256  # images per forward pass


@dataclass(frozen=True)
class ReferenceOptions:
    """``method`` is the name under which a configuration gives them."""

    method: ClassVar[str]
    identify_epochs: int = option(1, "the Whac-A-Mole paper, E = 1; it also has E = 2")

    def __post_init__(self) -> None:
        self.require_at_least(1, "identify_epochs")

    def require_at_least(self, least: int, *keys: str) -> None:
        for key in keys:
            value = getattr(self, key)
            if not value >= least:
                raise InputError(f"learners.{self.method}.{key} is {value}: it must be at least {least}")


class TwoStageLearner(Learner):
    """A learner whose phase begins with ``identify_epochs`` of plain training, at the study's first learning rate.

    From that net's logits on the phase's images (evaluation mode, no augmentation, with their cue), a method infers one number
    per image. Then the net is reset to the weights at the start of the phase, gets a new optimiser, and learns the phase's own
    epochs with what was inferred. The images of both stages count.
    """

    @classmethod
    def stages(
        cls, options: ReferenceOptions, sizes: Sequence[int], epochs: Sequence[int], number: int
    ) -> tuple[Stage, ...]:
        return (
            Stage(IDENTIFY, float(options.identify_epochs), preparatory=True),
            Stage(TRAIN, float(epochs[number])),
        )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.identifies = False
        self._start: dict[str, Tensor] = {}
        self._inferred: Tensor | None = None
        self._inferred_in: str | None = None

    def begin_phase(self, phase: Phase) -> None:
        super().begin_phase(phase)
        self._start = {name: value.clone() for name, value in self.net.state_dict().items()}

    def begin_stage(self, phase: Phase, stage: Stage) -> None:
        self.identifies = stage.name == IDENTIFY
        if self.identifies:
            self._inferred_in = None
            return
        if self._inferred is None or self._inferred_in != phase.name:  # a resumed run has it already
            self._inferred = self.infer(phase, self._logits(phase.train))
            self._inferred_in = phase.name
        self.net.load_state_dict(self._start)
        self._start = {}
        self.optimiser = self.context.make_optimiser(self.net.parameters())
        self.begin_training(phase, self._inferred)

    def infer(self, phase: Phase, logits: Tensor) -> Tensor:
        """One number per image of the phase, from the reference net's logits, on the CPU."""
        raise NotImplementedError

    def begin_training(self, phase: Phase, inferred: Tensor) -> None:
        """Prepare the second stage."""
        raise NotImplementedError

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        if self.identifies:
            assert self.optimiser is not None
            for group in self.optimiser.param_groups:
                group["lr"] = self.optimiser.defaults["lr"]  # a schedule's steps would all fall into these few epochs

    @torch.no_grad()
    def _logits(self, images: ImageSet) -> Tensor:
        self.net.eval()
        logits = []
        for rows in torch.arange(len(images)).split(_CHUNK):
            inputs = self.context.presentation.unaugmented(images.take(rows))
            with self.context.autocast():
                logits.append(self.net(inputs).float().cpu())
        return torch.cat(logits)

    def end_phase(self, phase: Phase) -> None:
        self._inferred = self._inferred_in = None

    def state_dict(self) -> dict[str, Any]:
        inferred = {} if self._inferred is None else {"inferred": self._inferred}
        return {"start": self._start, "inferred_in": self._inferred_in, **inferred}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._start = dict(state["start"])
        self._inferred_in = state["inferred_in"]
        self._inferred = state.get("inferred")
