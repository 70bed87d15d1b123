"""What replay methods have in common: a reservoir of past images, and draws from it in every step.

``replay = "within"``: every image enters the buffer right after its step, with the logits of that step, and can be replayed
from the next step on, in the first phase too, as in the authors' code. ``replay = "earlier"``: a phase is learned with replay
of the phases before it only, so that the first one is plain fine-tuning. The buffer samples a phase at its end: the
reservoir continues over its training images in a random order, with the logits of the net at that time, in evaluation mode,
on the image without augmentation and with its cue.

Replayed images are augmented again and get their cue again, by the stream's own rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.learner import Batch, Learner, batch_sized_option, option
from einstellung.learners.planning import TRAIN, Workload
from einstellung.learners.reservoir import Reservoir
from einstellung.modalities.transfer import to_device
from einstellung.randomness import generator
from einstellung.streams.stream import ImageSet, Phase

_CHUNK = 256  # images whose logits are computed at a time at the end of a phase


@dataclass(frozen=True)
class ReplayOptions:
    """Options of every method with a buffer; ``method`` is the name under which a configuration gives them."""

    method: ClassVar[str]
    buffer: int = option(500, "the ERI experiment; one of the sizes in Buzzega et al. (2020)")
    draw: int | None = batch_sized_option("the authors' code; null: as many images as training has in a batch")
    replay: str = option("within", "the authors' code; 'earlier': only images of earlier phases")

    def __post_init__(self) -> None:
        self.require_at_least(1, "buffer", "draw")
        if self.replay not in ("within", "earlier"):
            raise InputError(f"learners.{self.method}.replay is '{self.replay}': give 'within' or 'earlier'")

    def require_at_least(self, least: int, *keys: str) -> None:
        for key in keys:
            value = getattr(self, key)
            if value is not None and not value >= least:
                raise InputError(f"learners.{self.method}.{key} is {value}: it must be at least {least}")


@dataclass(frozen=True)
class ReplayWorkload(Workload):
    """Plain training and ``draws`` draws from the buffer in every step."""

    draws: int = 1

    def extra_images_per_step(
        self, options: ReplayOptions, sizes: Sequence[int], number: int, stage: str = TRAIN
    ) -> float:
        assert options.draw is not None, "Methods.options resolves it"
        nothing = options.replay == "earlier" and number == 0
        return 0.0 if nothing else float(self.draws * min(options.draw, options.buffer))


class ReplayLearner(Learner):
    """A learner with a reservoir buffer; a method defines its loss.

    ``joins_batch``: a draw shares the forward pass and the loss of the batch; otherwise it has its own loss.
    ``completes_methods``: it can add replay to another method, because its loss of the batch is the method's own.
    """

    workload: ClassVar[Workload] = ReplayWorkload()
    joins_batch: ClassVar[bool] = False
    completes_methods: ClassVar[bool] = True

    @classmethod
    def shares_first_phase(cls, options: ReplayOptions) -> bool:
        return options.replay == "earlier"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.buffer = Reservoir(self.options.buffer, self.context.device)

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        seed = self.context.seed
        self._slots = generator(seed, "buffer", phase.name, epoch)
        self._draws = generator(seed, "replay", phase.name, epoch)
        self._augmentation = generator(seed, "replay-augmentation", phase.name, epoch)
        self._cue = generator(seed, "replay-cue", phase.name, epoch)

    def observe(self, batch: Batch) -> Tensor:
        loss, logits = self.loss(batch)
        loss = self.step(loss)
        if self.options.replay == "within":
            self.buffer.add(batch.raw, logits.detach(), self._slots)
        return loss

    def loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The method's loss, and the net's logits on the batch."""
        raise NotImplementedError

    def enlarged(self, batch: Batch) -> Batch:
        """The batch with a draw from the buffer appended; unchanged while the buffer is empty."""
        if not len(self.buffer):
            return batch
        images, _ = self.buffer.draw(self.options.draw, self._draws)
        inputs = self.context.presentation.training(images, self._augmentation, self._cue)
        labels = to_device(images.labels, inputs.device)
        raw = ImageSet.joined((batch.raw, images))
        return Batch(torch.cat((batch.inputs, inputs)), torch.cat((batch.labels, labels)), raw)

    def memory_loss(self) -> Tensor:
        """The term that the method adds to the loss of a batch; 0 while the buffer is empty."""
        raise NotImplementedError

    def logits(self, inputs: Tensor) -> Tensor:
        with self.context.autocast():
            return self.net(inputs).float()

    def logits_of(self, parts: Sequence[Tensor], joined: bool) -> Sequence[Tensor]:
        """The logits of each part of a step: with its own batch statistics or, ``joined``, as one batch."""
        if joined:
            return self.logits(torch.cat(tuple(parts))).split([len(part) for part in parts])
        return self.logits_apart(parts)

    def replay(self) -> tuple[Tensor, Tensor, Tensor]:
        """A draw from the buffer: inputs, labels, logits."""
        images, logits = self.buffer.draw(self.options.draw, self._draws)
        inputs = self.context.presentation.training(images, self._augmentation, self._cue)
        return inputs, to_device(images.labels, inputs.device), logits

    def end_phase(self, phase: Phase) -> None:
        if self.options.replay == "within":
            return
        draws = generator(self.context.seed, "buffer-phase", phase.name)
        images = phase.train.take(torch.randperm(len(phase.train), generator=draws))
        self.buffer.add_computed(images, lambda rows: self._logits_in_evaluation(images.take(rows.cpu())), draws)

    @torch.no_grad()
    def _logits_in_evaluation(self, images: ImageSet) -> Tensor:
        was_training = self.net.training
        self.net.eval()
        chunks = torch.arange(len(images)).split(_CHUNK)
        logits = [self.logits(self.context.presentation.unaugmented(images.take(rows))) for rows in chunks]
        self.net.train(was_training)
        return torch.cat(logits)

    def state_dict(self) -> dict[str, Any]:
        return {"buffer": self.buffer.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.buffer.load_state_dict(state["buffer"])
