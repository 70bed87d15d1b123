"""Learning without shortcuts, LwS (Capitani et al., 2025).

Before phase t, k-means with cosine distance divides the images of each class y into ``clusters``, by their features in the net
with the run's initial weights. On the features of the net, a linear layer h of phase and class learns an image's cluster c.
With weights w of the images, draws B' and B'' from a buffer, and m' the outputs of h when x' entered the buffer,

    loss = mean of w CE(f(x), y) + gamma CE(h(x), c) over the batch B + alpha MSE(h(x'), m')
         + beta CE(f(x''), y'') + delta CE(h(x''), c'').

In a phase w is 1 at first. After each step, L_c is the mean, over the images of cluster c that the phase has shown, of their
latest CE(f(x), y) + gamma CE(h(x), c). Every image of the batch gets v = N / N_c L_c / sum L, divided by its mean over the batch,
where c has N_c of the phase's N images, and w <- (1 - momentum) w + momentum v; in the first epoch w <- v.

After the share ``early`` of the phase's passes, CE(f(x), y) of every image is measured once. From then on all images of a batch
are offered to the buffer. The range of these losses so far is divided into ``bins`` of equal width, each of which accepts
buffer / bins / t images; in a full buffer they replace random ones.

Formula and defaults are those of the authors' code in Mammoth; of the paper we had the abstract only. That code has binary tasks,
with an output and a cross entropy of their own; here CE is over the whole head. Its initial weights are those of ImageNet: name
such in ``backbone.weights``. It measures the losses after 5 of 25 epochs on augmented images, and the net then stays in
evaluation mode until the phase ends; here the images are not augmented, and the net returns to training mode. It fills the
buffer from the third epoch on, with losses of 0 until they are measured, and leaves losses of exactly 0 out of L_c. Here a
class with fewer images has fewer clusters, an empty cluster keeps its centre, and replayed images are given their cue again.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.learners.greedy import take_from
from einstellung.learners.last_layer import last_layer
from einstellung.learners.learner import Batch, Learner, Stage, batch_sized_option, learners, option
from einstellung.learners.mitigation.identities import Identities
from einstellung.learners.planning import TRAIN, Workload
from einstellung.modalities.transfer import to_device
from einstellung.randomness import generator
from einstellung.streams.stream import Phase

_CHUNK = 256  # images per forward pass
_FORWARD = 0.35  # a forward pass without a backward one, against a step
_ROUNDS = 100  # of k-means at most; it usually ends long before
_TINY = 1e-12


@dataclass(frozen=True)
class LwSOptions:
    buffer: int = option(500, "as in er; Mammoth's choice for CelebA is 1024")
    draw: int | None = batch_sized_option("the authors' code; null: as many images as training has in a batch")
    clusters: int = option(8, "the authors' code: of every class")
    gamma: float = option(1.0, "the authors' code: weight of the loss on clusters")
    momentum: float = option(0.3, "the authors' code: how much of an image's weight is new")
    early: float = option(0.2, "the authors' code, 5 of 25 epochs: share of a phase before losses are measured")
    bins: int = option(4, "the authors' code: ranges of the loss that share the buffer")
    alpha: float = option(1.0, "the authors' code: weight of stored outputs for clusters")
    beta: float = option(1.0, "the authors' code: weight of replayed labels")
    delta: float = option(1.0, "the authors' code: weight of replayed clusters")

    def __post_init__(self) -> None:
        for least, keys in ((1, ("buffer", "draw", "clusters", "bins")), (0, ("gamma", "alpha", "beta", "delta"))):
            for key in keys:
                value = getattr(self, key)
                if value is not None and not value >= least:
                    raise InputError(f"learners.lws.{key} is {value}: it must be at least {least}")
        if not 0 < self.momentum <= 1:
            raise InputError(f"learners.lws.momentum is {self.momentum}: it must be above 0 and at most 1")
        if not 0 <= self.early < 1:
            raise InputError(f"learners.lws.early is {self.early}: it must be at least 0 and below 1")


@dataclass(frozen=True)
class LwSWorkload(Workload):
    """Two draws in every step, in the first phase only once the buffer is being filled; two passes over the phase."""

    def extra_images_per_step(
        self, options: LwSOptions, sizes: Sequence[int], number: int, stage: str = TRAIN
    ) -> float:
        assert options.draw is not None, "Methods.options resolves it"
        return 2.0 * min(options.draw, options.buffer) * (1.0 if number else 1.0 - options.early)

    def closing_cost(self, options: LwSOptions, size: int) -> float:
        return 2 * _FORWARD * size  # at the beginning and in the middle of the phase


@learners.register("lws")
class LearningWithoutShortcuts(Learner):
    """Images of clusters with a high loss count more; replay from a buffer that is balanced over early losses."""

    Options: ClassVar[type] = LwSOptions
    workload: ClassVar[Workload] = LwSWorkload()

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        options, phases, device = self.options, self.context.phases, self.context.device
        if options.buffer < (least := options.bins * len(phases)):
            raise InputError(
                f"learners.lws.buffer is {options.buffer}: with {options.bins} bins and {len(phases)} phases give at least "
                f"{least}"
            )
        self._layer = last_layer(self.net, "lws")
        self._starts, heads, count = [0], [], 0
        for phase in phases:
            classes, own = phase.train.labels.unique(return_inverse=True)
            self._starts.append(self._starts[-1] + len(own))
            heads.append(count + own)
            count += len(classes)
        self._head = torch.cat(heads)  # of every image of the stream: one for each class of each phase
        draws = torch.Generator().manual_seed(self.context.seed)
        self.heads = _linear(self._layer.weight.shape[-1], count * options.clusters, draws).to(device)
        self.clusters = torch.full_like(self._head, -1)  # -1: in a phase to come
        self.bins = LossBins(options.buffer, options.bins)
        self.rows = torch.zeros(options.buffer, dtype=torch.long)  # of the buffer's images in the stream
        self.outputs = torch.zeros(options.buffer, options.clusters, device=device)  # of h when they entered it
        self.early_losses: Tensor | None = None
        self._early_epochs = 0

    def begin_phase(self, phase: Phase) -> None:
        self.optimiser = self.context.make_optimiser([*self.net.parameters(), *self.heads.parameters()])
        number, device = len(self.context.earlier(phase)), self.context.device
        begin, end = self._starts[number : number + 2]
        self._start, self._known = begin, Identities(phase.train.index)
        if not self._is_clustered(phase):  # a resumed run has it already
            self.clusters[begin:end] = self._clustered(phase)
        groups = self._head[begin:end] * self.options.clusters + self.clusters[begin:end]
        sizes = torch.bincount(groups, minlength=len(self.heads.weight))
        self._groups = to_device(groups, device)
        self._rarity = to_device(len(groups) / sizes.clamp(min=1), device)
        self.losses, self.shown = torch.zeros(2, len(groups), device=device)
        self.weights = torch.ones(len(groups), device=device)
        self.bins.begin_phase(number + 1)
        self.early_losses, self._early_epochs = None, 0

    def begin_stage(self, phase: Phase, stage: Stage) -> None:
        self._early_epochs = min(math.ceil(self.options.early * stage.passes - 1e-9), stage.epochs - 1)

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        seed = self.context.seed
        self._slots = generator(seed, "buffer", phase.name, epoch)
        self._draws = generator(seed, "replay", phase.name, epoch)
        self._augmentation = generator(seed, "replay-augmentation", phase.name, epoch)
        self._cue = generator(seed, "replay-cue", phase.name, epoch)
        self._inertia = 0.0 if epoch == 1 else 1 - self.options.momentum
        if self.early_losses is None and epoch > self._early_epochs:
            self.early_losses = self._measured(phase)

    def observe(self, batch: Batch) -> Tensor:
        options, device = self.options, self.context.device
        rows = self._known.rows(batch.raw.index)
        slots, places = self._offered(rows)
        self.rows[slots] = self._start + rows[places]
        inputs, labels, shown = [batch.inputs], [batch.labels], [self._start + rows]
        drawn = [self._drawn() for _ in range(2)] if self.bins.held else []
        for past in drawn:
            images = take_from(self.context.phases, self.rows[past])
            inputs.append(self.context.presentation.training(images, self._augmentation, self._cue))
            labels.append(to_device(images.labels, device))
            shown.append(self.rows[past])
        logits, outputs = self._forward(inputs, shown)
        targets = [to_device(self.clusters[one], device) for one in shown]
        rows, slots, places = (to_device(one, device) for one in (rows, slots, places))
        self.outputs[slots] = outputs[0][places].detach()
        own = F.cross_entropy(logits[0], labels[0], reduction="none")
        clustered = F.cross_entropy(outputs[0], targets[0], reduction="none")
        loss = (self.weights[rows] * own).mean() + options.gamma * clustered.mean()
        if drawn:
            loss = loss + options.alpha * F.mse_loss(outputs[1], self.outputs[to_device(drawn[0], device)])
            loss = loss + options.beta * F.cross_entropy(logits[2], labels[2])
            loss = loss + options.delta * F.cross_entropy(outputs[2], targets[2])
        loss = self.step(loss)
        self._reweigh(rows, (options.gamma * clustered + own).detach())
        return loss

    def _offered(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The slots of the buffer that images of a batch take, and which of the images each slot holds in the end."""
        holders: dict[int, int] = {}
        if self.early_losses is not None:
            draws = torch.rand(len(rows), generator=self._slots, dtype=torch.float64).tolist()
            for place, (loss, draw) in enumerate(zip(self.early_losses[rows].tolist(), draws, strict=True)):
                if (slot := self.bins.slot(loss, draw)) is not None:
                    holders[slot] = place
        return torch.tensor(list(holders), dtype=torch.long), torch.tensor(list(holders.values()), dtype=torch.long)

    def _drawn(self) -> Tensor:
        """Slots of a draw, in the order of their images in the stream."""
        slots = torch.randperm(self.bins.held, generator=self._draws)[: self.options.draw]
        return slots[self.rows[slots].argsort(stable=True)]

    def _forward(self, inputs: Sequence[Tensor], shown: Sequence[Tensor]) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        """The logits of every part, and what h of each image's phase and class gives."""
        features: list[Tensor] = []
        handle = self._layer.register_forward_pre_hook(lambda _, given: features.append(given[0]))
        try:
            logits = self.logits_apart(inputs)
        finally:
            handle.remove()
        with self.context.autocast():
            outputs = self.heads(torch.cat(features)).float()
        each = outputs.unflatten(1, (-1, self.options.clusters))
        heads = to_device(self._head[torch.cat(tuple(shown))], each.device)
        own = each[torch.arange(len(each), device=each.device), heads]
        return logits, own.split([len(part) for part in inputs])

    @torch.no_grad()
    def _reweigh(self, rows: Tensor, losses: Tensor) -> None:
        """New weights of the images of a batch, from the mean losses of all clusters."""
        self.losses[rows], self.shown[rows] = losses.to(self.losses.dtype), 1.0
        sums, counts = (
            torch.zeros_like(self._rarity).index_add_(0, self._groups, values) for values in (self.losses, self.shown)
        )
        means = sums / counts.clamp(min=1)
        new = (means / means.sum().clamp(min=_TINY) * self._rarity)[self._groups[rows]]
        new = new / new.mean().clamp(min=_TINY)
        self.weights[rows] = self._inertia * self.weights[rows] + (1 - self._inertia) * new

    def _inputs(self, phase: Phase) -> Iterator[tuple[Tensor, Tensor]]:
        """All images of a phase without augmentation, and their labels."""
        for rows in torch.arange(len(phase.train)).split(_CHUNK):
            images = phase.train.take(rows)
            inputs = self.context.presentation.unaugmented(images)
            yield inputs, to_device(images.labels, inputs.device)

    @torch.no_grad()
    def _measured(self, phase: Phase) -> Tensor:
        """The cross entropy of every image of the phase, on the CPU."""
        self.net.eval()
        losses = []
        for inputs, labels in self._inputs(phase):
            with self.context.autocast():
                losses.append(F.cross_entropy(self.net(inputs).float(), labels, reduction="none").cpu())
        self.training_mode()
        measured = torch.cat(losses)
        if not bool(measured.isfinite().all()):
            raise FloatingPointError(
                f"the loss of an image of {phase.name} is not finite: lower training.lr or the method's own weights"
            )
        return measured

    @torch.no_grad()
    def _clustered(self, phase: Phase) -> Tensor:
        """The cluster of every image of the phase, counted from 0 in each class."""
        assert self.context.initial is not None, "the run has no initial weights"
        self.context.report_progress(f"clusters of {phase.name}")
        twin = copy.deepcopy(self.net).eval()
        twin.load_state_dict(self.context.initial())
        features: list[Tensor] = []
        last_layer(twin, "lws").register_forward_pre_hook(lambda _, given: features.append(given[0].float().cpu()))
        for inputs, _ in self._inputs(phase):
            with self.context.autocast():
                twin(inputs)
        draws, found = generator(self.context.seed, "clusters", phase.name), torch.zeros_like(phase.train.labels)
        everything = torch.cat(features)
        for label in phase.train.labels.unique():
            own = phase.train.labels == label
            found[own] = cosine_clusters(everything[own], self.options.clusters, draws)
        return found

    def _is_clustered(self, phase: Phase) -> bool:
        number = len(self.context.earlier(phase))
        return bool((self.clusters[self._starts[number] : self._starts[number + 1]] >= 0).all())

    def end_phase(self, phase: Phase) -> None:
        if not self._is_clustered(phase):
            raise InputError("lws fills its buffer while it learns a phase, so it cannot come after another method")

    def state_dict(self) -> dict[str, Any]:
        if not self.bins.phases:
            return {}
        return {
            "heads": self.heads.state_dict(),
            "clusters": self.clusters,
            "bins": self.bins.state_dict(),
            "rows": self.rows,
            "outputs": self.outputs,
            "weighing": {"losses": self.losses, "shown": self.shown, "weights": self.weights},
            "early": {} if self.early_losses is None else {"losses": self.early_losses},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if not state:
            return
        self.heads.load_state_dict(state["heads"])
        self.bins.load_state_dict(state["bins"])
        self.clusters, self.rows = state["clusters"], state["rows"]
        self.outputs = state["outputs"].to(self.context.device)
        for name, values in state["weighing"].items():
            setattr(self, name, values.to(self.context.device))
        self.early_losses = state["early"].get("losses")


class LossBins:
    """Which images a buffer accepts: in every phase as many from each of several ranges of the loss.

    >>> bins = LossBins(8, 2)
    >>> bins.begin_phase(1)
    >>> [bins.slot(loss, 0.0) for loss in (0.0, 4.0, 1.0, 1.5, 1.0, 1.0, 3.0)]  # four places for losses below 2
    [0, 1, 2, 3, 4, None, 5]
    """

    def __init__(self, capacity: int, bins: int) -> None:
        self.capacity = capacity
        self.phases = self.held = self.room = 0
        self.counts = [0] * bins
        self.low, self.high = math.inf, -math.inf

    def begin_phase(self, number: int) -> None:
        """Begin phase ``number``, counted from 1, with empty bins."""
        self.phases = number
        self.room = self.capacity // len(self.counts) // number
        self.counts = [0] * len(self.counts)
        self.low, self.high = math.inf, -math.inf

    def slot(self, loss: float, draw: float) -> int | None:
        """The slot for an image of this loss, if its bin accepts it; ``draw``, between 0 and 1, says which one is replaced."""
        self.low, self.high = min(self.low, loss), max(self.high, loss)
        width = (self.high - self.low) / len(self.counts)
        own = min(int((loss - self.low) / width), len(self.counts) - 1) if width else 0
        if self.counts[own] >= self.room:
            return None
        self.counts[own] += 1
        if self.held == self.capacity:
            return int(draw * self.capacity)
        self.held += 1
        return self.held - 1

    def state_dict(self) -> dict[str, Any]:
        span = torch.tensor([self.low, self.high], dtype=torch.float64)  # infinite before the first loss
        return {"phases": self.phases, "held": self.held, "room": self.room, "counts": self.counts, "span": span}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.phases, self.held, self.room = state["phases"], state["held"], state["room"]
        self.counts = list(state["counts"])
        self.low, self.high = state["span"].tolist()


def cosine_clusters(features: Tensor, count: int, draws: torch.Generator) -> Tensor:
    """k-means with cosine distance from random images: the cluster of every image.

    >>> features = torch.tensor([[1.0, 0.0], [0.1, 3.0], [5.0, 0.1], [0.0, 1.0]])
    >>> first, second, third, last = cosine_clusters(features, 2, torch.Generator().manual_seed(0)).tolist()
    >>> first == third != second == last
    True
    """
    points = F.normalize(features, dim=1)
    centres = points[torch.randperm(len(points), generator=draws)[:count]]
    for _ in range(_ROUNDS):
        found = (points @ F.normalize(centres, dim=1).T).argmax(dim=1)
        sizes = torch.bincount(found, minlength=len(centres)).unsqueeze(1)
        sums = torch.zeros_like(centres).index_add_(0, found, points)
        before, centres = centres, torch.where(sizes > 0, sums / sizes.clamp(min=1), centres)
        if float((centres - before).norm(dim=1).sum()) < 1e-2:
            break
    return found


def _linear(inputs: int, outputs: int, draws: torch.Generator) -> nn.Linear:
    """A linear layer, initialised as torch does, but from ``draws``: torch's global generator is left alone."""
    layer = nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")
    bound = 1 / math.sqrt(inputs)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_((2 * torch.rand(parameter.shape, generator=draws) - 1) * bound)
    return layer
