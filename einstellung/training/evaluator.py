"""Measuring a net on the stream's splits, without touching its training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from einstellung.streams.presentation import Presentation
from einstellung.streams.stream import EvaluationSplit, Stream


@dataclass(frozen=True)
class Measurement:
    """One split, one moment. Accuracies are averaged over the classes of the split."""

    split: str
    acc: float
    acc_task: float
    top5: float
    loss: float
    n: int
    predictions: Tensor


class Evaluator:
    """Evaluates splits in batches of a fixed size, in evaluation mode, without gradients and without random numbers."""

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
        """One measurement per named split."""
        was_training = net.training
        net.eval()
        try:
            return [self._measure_split(net, self.stream.split(name)) for name in names]
        finally:
            net.train(was_training)

    @torch.inference_mode()
    def _measure_split(self, net: nn.Module, split: EvaluationSplit) -> Measurement:
        logits = torch.cat([self._logits(net, pixels) for pixels in split.images.images.split(self.batch_size)])
        labels = split.images.labels
        own = torch.full((self.stream.n_outputs,), -torch.inf)
        own[list(self.stream.phase(split.phase).classes)] = 0
        predictions = logits.argmax(dim=1)
        top = logits.topk(min(5, logits.shape[1]), dim=1).indices
        return Measurement(
            split=split.name,
            acc=macro_accuracy(predictions == labels, labels),
            acc_task=macro_accuracy((logits + own).argmax(dim=1) == labels, labels),
            top5=macro_accuracy((top == labels.unsqueeze(1)).any(dim=1), labels),
            loss=float(F.cross_entropy(logits.double(), labels)),
            n=len(labels),
            predictions=predictions,
        )

    def _logits(self, net: nn.Module, pixels: Tensor) -> Tensor:
        with self.autocast():
            return net(self.presentation.normalised(pixels)).float().cpu()


def macro_accuracy(correct: Tensor, labels: Tensor) -> float:
    """The mean over classes of the share of correct images: acc = mean_c mean_{i: y_i = c} [correct_i].

    >>> macro_accuracy(torch.tensor([True, True, True, False]), torch.tensor([0, 0, 0, 1]))
    0.5
    """
    per_class = torch.bincount(labels, weights=correct.double())
    count = torch.bincount(labels)
    present = count > 0
    return float((per_class[present] / count[present]).mean())
