"""Measure any model on any splits without changing it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset

from einstellung.errors import InputError
from einstellung.streams import Presentation, Stream
from einstellung.training.evaluator import SplitMetrics, split_metrics
from einstellung.training.outputs import logits_of


class HasStream(Protocol):
    """Data that were made from a stream: what ``einstellung.two_phase`` returns."""

    @property
    def stream(self) -> Stream: ...


Model = Callable[..., Any]
Splits = Stream | Mapping[str, Any] | HasStream
Batches = Iterable[tuple[Any, Tensor]]


@dataclass(frozen=True)
class SplitData:
    """A split as batches of (inputs, labels), and the classes of its phase if known."""

    name: str
    batches: Callable[[], Batches]
    classes: tuple[int, ...] | None


def split_data(
    splits: Splits, classes: Mapping[str, Sequence[int]] | None, batch_size: int, device: torch.device | None
) -> list[SplitData]:
    """The splits in a common form. A split's name starts with its phase: T2_val belongs to T2."""
    stream = getattr(splits, "stream", splits)  # einstellung.two_phase(...) has one
    if isinstance(stream, Stream):
        return _of_stream(stream, batch_size, device)
    if not isinstance(splits, Mapping) or not splits:
        raise InputError("evaluate needs splits: a mapping of names to (inputs, labels) or batches, or a stream")
    of_phase = {phase: tuple(int(one) for one in given) for phase, given in (classes or {}).items()}
    return [
        SplitData(str(name), _batches_of(str(name), given, batch_size), _classes_of(str(name), of_phase))
        for name, given in splits.items()
    ]


def _classes_of(split: str, of_phase: Mapping[str, tuple[int, ...]]) -> tuple[int, ...] | None:
    """The classes of the phase whose name the split begins with, the longest if several do."""
    phases = [phase for phase in of_phase if split == phase or split.startswith(f"{phase}_")]
    return of_phase[max(phases, key=len)] if phases else None


def _of_stream(stream: Stream, batch_size: int, device: torch.device | None) -> list[SplitData]:
    presentation = Presentation(stream, device or "cpu")

    def batches(name: str) -> Callable[[], Batches]:
        images = stream.split(name).images
        pairs = list(zip(images.images.split(batch_size), images.labels.split(batch_size), strict=True))
        return lambda: ((presentation.normalised(pixels), labels) for pixels, labels in pairs)

    return [SplitData(one.name, batches(one.name), stream.phase(one.phase).classes) for one in stream.splits]


def _batches_of(name: str, given: Any, batch_size: int) -> Callable[[], Batches]:
    if isinstance(given, (tuple, list)) and len(given) == 2 and all(isinstance(x, (Tensor, np.ndarray)) for x in given):
        inputs, labels = (torch.as_tensor(one) for one in given)
        if len(inputs) != len(labels):
            raise InputError(f"split '{name}' has {len(inputs)} inputs and {len(labels)} labels")
        return lambda: zip(inputs.split(batch_size), labels.split(batch_size), strict=True)
    if isinstance(given, Dataset) and not isinstance(given, IterableDataset):
        given = DataLoader(given, batch_size=batch_size)
    if not isinstance(given, Iterable):
        raise InputError(f"split '{name}' is a {type(given).__name__}: give (inputs, labels) or batches of them")
    if isinstance(given, Iterator):
        raise InputError(
            f"split '{name}' is an iterator, exhausted after one pass: give a re-iterable such as a list or DataLoader"
        )
    return lambda: (_pair(name, batch) for batch in given)


def _pair(name: str, batch: Any) -> tuple[Any, Tensor]:
    if not isinstance(batch, (tuple, list)) or len(batch) < 2:
        raise InputError(f"split '{name}' yields a {type(batch).__name__}: give batches of (inputs, labels, ...)")
    return batch[0], torch.as_tensor(batch[1])


def measure(
    model: Model, split: SplitData, device: torch.device | None, autocast: Callable[[], AbstractContextManager[Any]]
) -> SplitMetrics:
    """Metrics of a split, as :class:`einstellung.training.Evaluator` computes them for our own nets."""
    outputs, targets = [], []
    for inputs, labels in split.batches():
        with autocast():
            given = inputs.to(device) if device is not None and hasattr(inputs, "to") else inputs
            outputs.append(_logits(model(given), split.name).float().cpu())
        targets.append(_checked_labels(labels, outputs[-1], split.name))
    if not sum(map(len, targets)):
        raise InputError(f"split '{split.name}' holds no images")
    logits, truth = torch.cat(outputs), torch.cat(targets)
    _check_classes(split, truth, logits.shape[1])
    metrics = split_metrics(logits, truth, split.classes)
    if not math.isfinite(metrics.loss):
        raise InputError(f"split '{split.name}': the loss is {metrics.loss}; are the model's outputs finite?")
    return metrics


def _logits(output: Any, name: str) -> Tensor:
    output = logits_of(output)
    if not isinstance(output, Tensor) or output.ndim != 2:
        found = f"a tensor of shape {list(output.shape)}" if isinstance(output, Tensor) else type(output).__name__
        raise InputError(f"split '{name}': the model gives {found}; logits of shape [images, classes] are needed")
    return output


def _checked_labels(labels: Tensor, logits: Tensor, name: str) -> Tensor:
    if labels.ndim != 1 or labels.is_floating_point() or labels.dtype == torch.bool:
        raise InputError(f"split '{name}': labels are {labels.dtype} of shape {list(labels.shape)}: give class numbers")
    if len(labels) != len(logits):
        raise InputError(f"split '{name}': the model gives {len(logits)} outputs for {len(labels)} labels")
    labels = labels.cpu().long()
    if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < logits.shape[1]:
        raise InputError(
            f"split '{name}' has labels {int(labels.min())} to {int(labels.max())}; the model has {logits.shape[1]} outputs"
        )
    return labels


def _check_classes(split: SplitData, labels: Tensor, outputs: int) -> None:
    if split.classes is None:
        return
    if outside := sorted(set(labels.tolist()) - set(split.classes)):
        raise InputError(
            f"split '{split.name}' has the label {outside[0]}, which is not among the classes of its phase"
        )
    if not all(0 <= one < outputs for one in split.classes):
        raise InputError(
            f"split '{split.name}': the classes of its phase reach from {min(split.classes)} to {max(split.classes)}; "
            f"the model has {outputs} outputs"
        )


def autocast_to(amp: torch.dtype | None, device: torch.device | None) -> Callable[[], AbstractContextManager[Any]]:
    """Automatic mixed precision with the given type; None keeps the caller's setting."""
    if amp is None:
        return nullcontext
    return lambda: torch.autocast((device or torch.device("cpu")).type, amp)
