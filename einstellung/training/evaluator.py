"""Evaluation of a net on the stream's splits, without any effect on its training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.streams.containment import ContainedSplit, contained_splits
from einstellung.streams.presentation import Presentation
from einstellung.streams.stream import EvaluationSplit, Stream


@dataclass(frozen=True)
class SplitMetrics:
    """Metrics of one split at one moment. Accuracies are averaged over the classes of the split.

    ``acc_task`` is that of logits limited to the classes of the split's phase (None where these are not known),
    ``acc_within`` of logits limited to the classes that the split holds (None where it holds a single one).
    """

    acc: float
    acc_task: float | None
    acc_within: float | None
    top5: float
    loss: float
    n: int


@dataclass(frozen=True)
class Measurement(SplitMetrics):
    """The metrics of one split of a stream, and the prediction of each image."""

    split: str
    predictions: Tensor


class Evaluator:
    """Evaluates splits in batches of a fixed size, in evaluation mode, without gradients and without random numbers.

    Where a split is a subset of another one of its phase, its images are evaluated once for both.
    """

    def __init__(
        self,
        stream: Stream,
        presentation: Presentation,
        autocast: Callable[[], AbstractContextManager[Any]],
        batch_size: int = 250,
    ) -> None:
        self.stream = stream
        self.presentation = presentation
        self.autocast = autocast
        self.batch_size = batch_size

    def measure(self, net: nn.Module, names: Sequence[str]) -> list[Measurement]:
        """One measurement per named split, independent of which others are named."""
        splits = [self.stream.split(name) for name in names]
        if not splits:
            return []
        shown = {split.name: split for split in map(self._home, splits)}
        was_training = net.training
        net.eval()
        try:
            logits = dict(zip(shown, self._logits(net, list(shown.values())), strict=True))
        finally:
            net.train(was_training)
        return [self._measurement(split, self._of_split(split, logits)) for split in splits]

    @cached_property
    def _within(self) -> dict[str, ContainedSplit]:
        return contained_splits(self.stream.splits)

    def _home(self, split: EvaluationSplit) -> EvaluationSplit:
        """The split in whose batches the images of this one are evaluated."""
        return self._within[split.name].container if split.name in self._within else split

    def _of_split(self, split: EvaluationSplit, logits: dict[str, Tensor]) -> Tensor:
        of_home = logits[self._home(split).name]
        return of_home[self._within[split.name].rows] if split.name in self._within else of_home

    @torch.inference_mode()
    def _logits(self, net: nn.Module, splits: Sequence[EvaluationSplit]) -> tuple[Tensor, ...]:
        """The logits of every split, on the CPU."""
        batches: list[Tensor] = []
        for split in splits:  # a batch never mixes two splits: with small batches rounding depends on the size
            for pixels in split.images.images.split(self.batch_size):
                with self.autocast():
                    batches.append(net(self.presentation.normalised(pixels)).float())
        # One copy for all splits: each copy waits for an accelerator to finish.
        logits = torch.cat(batches).cpu()
        return torch.split(logits, [len(split.images) for split in splits])

    def _measurement(self, split: EvaluationSplit, logits: Tensor) -> Measurement:
        metrics = split_metrics(logits, split.images.labels, self.stream.phase(split.phase).classes)
        return Measurement(**vars(metrics), split=split.name, predictions=logits.argmax(dim=1))


def split_metrics(logits: Tensor, labels: Tensor, classes: Sequence[int] | None) -> SplitMetrics:
    """The metrics of a split from the logits of its images [N, outputs]; ``classes`` are those of its phase.

    >>> split_metrics(torch.tensor([[2.0, 1.0, 0.0], [1.0, 0.0, 2.0]]), torch.tensor([0, 1]), (1, 2)).acc
    0.5
    """
    held = labels.unique().tolist()
    top = logits.topk(min(5, logits.shape[1]), dim=1).indices
    return SplitMetrics(
        acc=macro_accuracy(logits.argmax(dim=1) == labels, labels),
        acc_task=None if classes is None else _accuracy_among(classes, logits, labels),
        acc_within=_accuracy_among(held, logits, labels) if len(held) > 1 else None,
        top5=macro_accuracy((top == labels.unsqueeze(1)).any(dim=1), labels),
        loss=float(F.cross_entropy(logits.double(), labels)),
        n=len(labels),
    )


def _accuracy_among(classes: Sequence[int], logits: Tensor, labels: Tensor) -> float:
    """Accuracy of the largest logit among some classes.

    >>> _accuracy_among((0, 1), torch.tensor([[1.0, 0.0, 2.0]]), torch.tensor([0]))
    1.0
    """
    own = torch.full((logits.shape[1],), -torch.inf)
    own[list(classes)] = 0
    return macro_accuracy((logits + own).argmax(dim=1) == labels, labels)


def macro_accuracy(correct: Tensor, labels: Tensor) -> float:
    """The mean over classes of the share of correct images: acc = mean_c mean_{i: y_i = c} [correct_i].

    >>> macro_accuracy(torch.tensor([True, True, True, False]), torch.tensor([0, 0, 0, 1]))
    0.5
    """
    per_class = torch.bincount(labels, weights=correct.double())
    count = torch.bincount(labels)
    present = count > 0
    return float((per_class[present] / count[present]).mean())
