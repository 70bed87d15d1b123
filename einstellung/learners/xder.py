"""Extended dark experience replay, X-DER (Boschini et al., 2022).

The head has a part for each phase: past, present (P) and future ones. With z = f(x) on the batch B, draws B' and B'' from a
memory of earlier phases with logits m, and S a third draw together with B, in ``views`` strongly augmented views,

    loss = CE(z_P, y) + alpha MSE(f(x'), m') + beta CE(f(x'')_past, y'')
         + consistency * mean over future parts h of SupCon(f(S)_h, y; temperature)
         + eta mean of max(0, margin + max z_future - max z_own) over B, B', B'' (where positive)
         [+ eta mean of max(0, margin + max p_past - max p_P) over B, p = softmax(z), with ``past_constraint``].

The memory's logits are kept up to date: those of the phase and of later ones are replaced by the net's present ones, scaled where
they exceed the logit g of the image's class, to a maximum of gamma g; for an image drawn for the k-th time in a phase with
probability 1 / k, and for all images after it. After phase t the memory has buffer / t images of every phase, balanced over
its classes. In later phases running batch-norm statistics follow B' together with a part of B alone.

This is the X-DER of the authors' code in Mammoth. Differs from it in that images enter the memory in an order of our own,
in that phases may differ in size (Mammoth's classes per phase are one number), and in that images from the memory and views
are given their cue again: after crop and flip, before the colours change. Views are resampled without antialiasing. Mammoth's
optional distance-preserving term is not part of it. Phases must not share classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from einstellung.errors import InputError
from einstellung.learners.greedy import take_from
from einstellung.learners.learner import Batch, batch_sized_option, learners, option
from einstellung.learners.mitigation.augmented import AugmentedLearner
from einstellung.learners.planning import TRAIN, Workload
from einstellung.learners.strong_views import cropped, recoloured
from einstellung.modalities.transfer import to_device
from einstellung.randomness import generator
from einstellung.streams.stream import ImageSet, Phase


@dataclass(frozen=True)
class XDEROptions:
    buffer: int = option(500, "as in er; one of the sizes in Boschini et al. (2022)")
    draw: int | None = batch_sized_option("the authors' code; null: as many images as training has in a batch")
    alpha: float = option(0.3, "Mammoth's choice for CIFAR-100 with a buffer of 500")
    beta: float = option(0.8, "Mammoth's choice for CIFAR-100 with a buffer of 500")
    gamma: float = option(0.85, "the authors' code: largest new logit, against that of the image's class")
    consistency: float = option(0.05, "the authors' code: weight of the loss on future parts of the head")
    temperature: float = option(5.0, "the authors' code")
    views: int = option(4, "the authors' code: views of every image in it")
    consistency_draw: int = option(64, "the authors' code: images from the memory in it")
    eta: float = option(0.1, "the authors' code: weight of the constraints")
    margin: float = option(0.3, "the authors' code")
    past_constraint: bool = option(False, "the authors' code, where it is off; part of the paper's loss")

    def __post_init__(self) -> None:
        for least, keys in (
            (0, ("alpha", "beta", "gamma", "consistency", "eta", "margin")),
            (1, ("buffer", "draw", "consistency_draw")),
            (2, ("views",)),
        ):
            for key in keys:
                value = getattr(self, key)
                if value is not None and not value >= least:
                    raise InputError(f"learners.xder.{key} is {value}: it must be at least {least}")
        if not self.temperature > 0:
            raise InputError(f"learners.xder.temperature is {self.temperature}: it must be above 0")


@dataclass(frozen=True)
class XDERWorkload(Workload):
    """Two draws from the second phase on, and until the last one the views of the batch and of a third draw."""

    def extra_images_per_step(
        self, options: XDEROptions, sizes: Sequence[int], number: int, stage: str = TRAIN
    ) -> float:
        assert options.draw is not None, "Methods.options resolves it"
        draws = 2.0 * min(options.draw, options.buffer) if number else 0.0
        third = min(options.consistency_draw, options.buffer) if number else 0
        return draws + (options.views * third if number < len(sizes) - 1 else 0.0)

    def cost(self, options: XDEROptions, sizes: Sequence[int], number: int) -> float:
        return 1.0 + (options.views if number < len(sizes) - 1 else 0)

    def closing_cost(self, options: XDEROptions, size: int) -> float:
        return 0.35 * (size + options.buffer)


@learners.register("xder")
class ExtendedDER(AugmentedLearner):
    """Dark experience replay whose stored logits learn about later phases, and whose unused outputs are prepared for them."""

    Options: ClassVar[type] = XDEROptions
    workload: ClassVar[Workload] = XDERWorkload()
    method: ClassVar[str] = "xder"
    combines: ClassVar[bool] = False

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        phases = self.context.phases
        classes = [label for phase in phases for label in phase.classes]
        if len(set(classes)) < len(classes):
            raise InputError("xder has a part of the head for each phase, but the phases of this stream share classes")
        device = self.context.device
        n_outputs = self.context.presentation.stream.n_outputs
        self._parts = [torch.tensor(sorted(phase.classes), device=device) for phase in phases]
        self._elsewhere = torch.ones(n_outputs, n_outputs, dtype=torch.bool)  # outputs of other phases, for every class
        for phase in phases:
            own = torch.tensor(phase.classes)
            self._elsewhere[own[:, None], own] = False
        self.rows = torch.zeros(0, dtype=torch.long)  # of the memory's images in the concatenated phases
        self.logits = torch.zeros(0, n_outputs, device=device)
        self.updates = torch.zeros(0)  # how often an image was drawn in this phase
        self._images: ImageSet | None = None
        self._number = 0

    def begin_phase(self, phase: Phase) -> None:
        super().begin_phase(phase)
        self._number = len(self.context.earlier(phase))

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        super().begin_epoch(phase, epoch)
        seed = self.context.seed
        self._draws = generator(seed, "replay", phase.name, epoch)
        self._replay_augmentation = generator(seed, "replay-augmentation", phase.name, epoch)
        self._replay_cue = generator(seed, "replay-cue", phase.name, epoch)
        self._chances = generator(seed, "xder-updates", phase.name, epoch)

    def objective(self, batch: Batch) -> Tensor:
        options, own, later = self.options, self._parts[self._number], self._parts[self._number + 1 :]
        with self._statistics(kept=self._number > 0):
            logits = self._outputs(batch.inputs)
        loss = F.cross_entropy(logits[:, own], torch.searchsorted(own, batch.labels))
        shown, labels = logits, batch.raw.labels
        if len(self.rows):
            replayed, past, again = self._replay(batch)
            loss = loss + past
            shown, labels = torch.cat((logits, replayed)), torch.cat((labels, again))
        if later:
            loss = loss + options.consistency * self._consistency(batch, later)
            loss = loss + options.eta * self._future_constraint(shown, labels, torch.cat(later))
        if options.past_constraint and self._number:
            loss = loss + options.eta * self._past_constraint(logits)
        return loss

    def _replay(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """The losses on two draws; and the logits and labels of the images in them, each of them once."""
        assert self._images is not None
        first, second = self._drawn(self.options.draw), self._drawn(self.options.draw)
        inputs = [self._presented(self._images.take(rows)) for rows in (first, second)]
        mixed = torch.cat((inputs[0], batch.inputs[: self.options.draw // self._number]))
        dark = self._outputs(mixed)[: len(first)]
        with self._statistics(kept=True):
            labelled = self._outputs(inputs[1])
        past = torch.cat(self._parts[: self._number])
        own = torch.full((self.logits.shape[1],), -1, device=past.device)
        own[past] = torch.arange(len(past), device=past.device)
        targets = own[self._labels(second)]
        loss = self.options.alpha * F.mse_loss(dark, self.logits[to_device(first, self.context.device)])
        loss = loss + self.options.beta * F.cross_entropy(labelled[:, past], targets)

        both = torch.cat((first, second))
        once = _first_occurrences(both)
        outputs = torch.cat((dark, labelled))[to_device(once, self.context.device)]
        rows = both[once]
        self.updates[rows] += 1
        chosen = (torch.rand(len(rows), generator=self._chances) * self.updates[rows] < 1).nonzero().flatten()
        self._update(rows[chosen], outputs.detach()[to_device(chosen, self.context.device)])
        return outputs, loss, self._images.labels[rows]

    def _update(self, rows: Tensor, outputs: Tensor) -> None:
        """Replace the logits of the present and later phases in the memory."""
        places, columns = to_device(rows, self.context.device), torch.cat(self._parts[self._number :])
        self.logits[places] = transplanted(
            self.logits[places], outputs, self._labels(rows), columns, self.options.gamma
        )

    def _consistency(self, batch: Batch, later: Sequence[Tensor]) -> Tensor:
        raw = batch.raw
        if self._images is not None and len(self.rows):
            drawn = self._images.take(self._drawn(self.options.consistency_draw))
            raw = ImageSet.joined((drawn, raw))
        count, views = len(raw), self.options.views
        with self._statistics(kept=True):
            outputs = self._outputs(self.views_of(raw.take(torch.arange(count).repeat_interleave(views))))
        labels = to_device(raw.labels.repeat_interleave(views), outputs.device)
        losses = [contrast(outputs[:, part], labels, self.options.temperature) for part in later]
        return torch.stack(losses).mean()

    def views_of(self, raw: ImageSet) -> Tensor:
        """A strongly augmented view of every image, as the net's input."""
        presentation = self.context.presentation
        parts = cropped(raw.images, presentation.stream.flip, self.draws)
        return presentation.normalised(recoloured(presentation.painted(parts, raw, self.cue), self.draws))

    def _future_constraint(self, logits: Tensor, labels: Tensor, future: Tensor) -> Tensor:
        """How far the largest future logit comes near the largest of the image's own phase."""
        elsewhere = to_device(self._elsewhere[labels], logits.device)
        largest = logits.masked_fill(elsewhere, -torch.inf).amax(dim=1)
        return positive_mean(logits[:, future].amax(dim=1) + self.options.margin - largest)

    def _past_constraint(self, logits: Tensor) -> Tensor:
        seen = torch.cat(self._parts[: self._number + 1])
        likely = logits[:, seen].softmax(dim=1)
        own = len(self._parts[self._number])
        past = likely[:, :-own].amax(dim=1).detach()
        return positive_mean(past + self.options.margin - likely[:, -own:].amax(dim=1))

    def _outputs(self, inputs: Tensor) -> Tensor:
        with self.context.autocast():
            return self.net(inputs).float()

    def _drawn(self, count: int) -> Tensor:
        return torch.randperm(len(self.rows), generator=self._draws)[:count]

    def _presented(self, images: ImageSet) -> Tensor:
        return self.context.presentation.training(images, self._replay_augmentation, self._replay_cue)

    def _labels(self, rows: Tensor) -> Tensor:
        assert self._images is not None
        return to_device(self._images.labels[rows], self.context.device)

    @contextmanager
    def _statistics(self, kept: bool) -> Iterator[None]:
        """Keep the running statistics of batch norm as they are."""
        layers = [layer for layer in self.net.modules() if kept and isinstance(layer, _BatchNorm)]
        momenta = [layer.momentum for layer in layers]
        for layer in layers:
            layer.momentum = 0.0
        try:
            yield
        finally:
            for layer, momentum in zip(layers, momenta, strict=True):
                layer.momentum = momentum

    @torch.no_grad()
    def end_phase(self, phase: Phase) -> None:
        """Reduce the memory, add images of the phase, and bring the logits of all others up to date."""
        self._number = len(self.context.earlier(phase))
        self.net.train()
        draws, augmentation, cue = (
            generator(self.context.seed, f"buffer-{what}", phase.name) for what in ("phase", "augmentation", "cue")
        )
        kept = self._reduced()
        fresh, logits = self._collected(phase, self.options.buffer - len(kept), draws, augmentation, cue)
        start = sum(len(other.train) for other in self.context.earlier(phase))
        self.rows = torch.cat((self.rows[kept], start + fresh))
        self.logits = torch.cat((self.logits[to_device(kept, self.logits.device)], logits))
        self.updates = torch.zeros(len(self.rows))
        self._images = take_from(self.context.phases, self.rows)
        if len(kept):
            order = torch.randperm(len(self.rows), generator=draws)
            with self._statistics(kept=True):
                parts = [
                    self._outputs(self.context.presentation.training(self._images.take(rows), augmentation, cue))
                    for rows in order.split(self.context.batch_size)
                ]
            old = (order < len(kept)).nonzero().flatten()
            self._update(order[old], torch.cat(parts)[to_device(old, self.context.device)])

    def _reduced(self) -> Tensor:
        """The first images of every class in the memory, as many as each may keep."""
        if self._images is None or not self._number:
            return torch.zeros(0, dtype=torch.long)
        known = sum(len(part) for part in self._parts[: self._number + 1])
        each = self.options.buffer // known
        past = [label for phase in self.context.phases[: self._number] for label in sorted(phase.classes)]
        return torch.cat([(self._images.labels == label).nonzero().flatten()[:each] for label in past])

    def _collected(
        self, phase: Phase, room: int, draws: torch.Generator, augmentation: torch.Generator, cue: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Rows of the phase's images that enter the memory, and their logits."""
        own = list(phase.classes)
        places = dict.fromkeys(own, room // len(own))
        for number in torch.randperm(len(own), generator=draws)[: room % len(own)].tolist():
            places[own[number]] += 1
        rows, logits = [], []
        with self._statistics(kept=True):
            for part in torch.randperm(len(phase.train), generator=draws).split(self.context.batch_size):
                if not any(places.values()):
                    break
                images = phase.train.take(part)
                outputs = self._outputs(self.context.presentation.training(images, augmentation, cue))
                if self._number:
                    labels = to_device(images.labels, outputs.device)
                    past = torch.cat(self._parts[: self._number])
                    outputs = transplanted(outputs, outputs, labels, past, self.options.gamma)
                entering = []
                for row, label in enumerate(images.labels.tolist()):
                    if places[label]:
                        places[label] -= 1
                        entering.append(row)
                taken = torch.tensor(entering, dtype=torch.long)
                rows.append(part[taken])
                logits.append(outputs[to_device(taken, outputs.device)])
        return torch.cat(rows), torch.cat(logits)

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self.rows, "logits": self.logits, "updates": self.updates} if len(self.rows) else {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if state:
            self.rows, self.updates = state["rows"], state["updates"]
            self.logits = state["logits"].to(self.context.device)
            self._images = take_from(self.context.phases, self.rows)


def transplanted(old: Tensor, new: Tensor, labels: Tensor, columns: Tensor, gamma: float) -> Tensor:
    """``old`` with some columns of ``new``, scaled where their maximum exceeds the logit g of the label, to gamma g.

    >>> old, new = torch.tensor([[2.0, 0.0, 0.0]]), torch.tensor([[9.0, 1.0, 4.0]])
    >>> transplanted(old, new, torch.tensor([0]), torch.tensor([1, 2]), 0.5)
    tensor([[2.0000, 0.2500, 1.0000]])
    """
    fresh = new[:, columns]
    own = old.gather(1, labels[:, None])
    largest = fresh.amax(dim=1, keepdim=True)
    scaled = torch.where(largest > own, fresh * (gamma * own / largest), fresh)
    return old.index_copy(1, columns, scaled)


def contrast(outputs: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """Supervised contrastive loss (Khosla et al., 2020) of normalised outputs: its mean over all of them.

    For each, the mean of -log softmax over the others' similarities, over those of its own label.

    >>> views, labels = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 0, 0])
    >>> f"{float(contrast(views, labels, 1.0)):.4f}"  # (2 (log(e + 1) - 1 / 2) + log 2) / 3
    '0.7732'
    """
    views = F.normalize(outputs, dim=1)
    itself = torch.eye(len(views), dtype=torch.bool, device=views.device)
    likeness = (views @ views.T / temperature).masked_fill(itself, -torch.inf)
    log_share = (likeness - likeness.logsumexp(dim=1, keepdim=True)).masked_fill(itself, 0.0)
    same = (labels[:, None] == labels[None]) & ~itself
    return -((log_share * same).sum(dim=1) / same.sum(dim=1)).mean()


def positive_mean(values: Tensor) -> Tensor:
    """The mean of the values above 0; 0 without any.

    >>> positive_mean(torch.tensor([-1.0, 2.0, 4.0])), positive_mean(torch.tensor([-1.0]))
    (tensor(3.), tensor(0.))
    """
    return values.clamp(min=0).sum() / (values > 0).sum().clamp(min=1)


def _first_occurrences(rows: Tensor) -> Tensor:
    """Where each row occurs first, in order."""
    places: dict[int, int] = {}
    for place, row in enumerate(rows.tolist()):
        places.setdefault(row, place)
    return torch.tensor(list(places.values()), dtype=torch.long)
