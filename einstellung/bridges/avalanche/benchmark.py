"""One of our streams as an Avalanche benchmark."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset

from einstellung.bridges.installed import import_framework
from einstellung.errors import InputError
from einstellung.streams import ImageSet, Presentation, Stream, prove

_PACKAGE = "avalanche-lib"
_TRAIN, _TEST = "train", "test"


class SingleImages(Dataset[tuple[ImageSet, int]]):
    """Raw images one by one, with their index and whether they have the cue.

    Avalanche's buffers keep rows of this data set, so replayed images are augmented again and then get their cue.
    """

    def __init__(self, images: ImageSet) -> None:
        self.images = images

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, row: int) -> tuple[ImageSet, int]:
        if not -len(self) <= row < len(self):
            raise IndexError(row)
        one = self.images.take(torch.tensor([int(row)]))
        return one, int(one.labels)


def avalanche_benchmark(stream: Stream) -> Any:
    """The stream as a class-incremental benchmark (``CLScenario``), after it has passed its checks.

    ``train_stream`` holds one experience per phase. At every draw an image is augmented, gets its cue and is normalised;
    Avalanche's ``eval`` transformations skip the augmentation. ``test_stream`` also holds one experience per phase, with the
    cue as in training. In addition, every named split is a stream of one experience: ``T2_shortcut_masked_stream``,
    ``T2_shortcut_clean_stream`` and so on. Targets are labels of the single head over all classes; the task label is always
    0. Augmentation draws from torch's global generator, like Avalanche's shuffling, so it follows its seed and that of a
    data loader's workers.
    """
    scenarios = import_framework("avalanche.benchmarks.scenarios", _PACKAGE)
    prove(stream).require()
    presentation = Presentation(stream)
    augmented, unaugmented = partial(_augmented, presentation), partial(_unaugmented, presentation)
    unchanged = partial(_unchanged, presentation)
    datasets = {
        _TRAIN: [_dataset(phase.train, augmented, unaugmented) for phase in stream.phases],
        _TEST: [_dataset(_test_images(stream, phase.name), unchanged, unchanged) for phase in stream.phases],
        **{split.name: [_dataset(split.images, unchanged, unchanged)] for split in stream.splits},
    }
    benchmark = scenarios.benchmark_from_datasets(**datasets)
    return scenarios.with_task_labels(scenarios.with_classes_timeline(benchmark))


def _test_images(stream: Stream, phase: str) -> ImageSet:
    """A phase's test images as in training: the cue classes with the cue."""
    names = (f"{phase}_all", f"{phase}_shortcut_normal", f"{phase}_nonshortcut_normal")
    found = [split.images for split in stream.splits if split.name in names]
    if not found:
        raise InputError(
            f"the stream '{stream.name}' has no test images of {phase}: one of {', '.join(names)} is needed"
        )
    whole = [split.images for split in stream.splits if split.name == names[0]]  # of many phases, beside its parts
    return ImageSet.joined(whole or found)


def _dataset(images: ImageSet, train: Any, evaluation: Any) -> Any:
    utils = import_framework("avalanche.benchmarks.utils", _PACKAGE)
    attributes = import_framework("avalanche.benchmarks.utils.data_attribute", _PACKAGE)
    groups = import_framework("avalanche.benchmarks.utils.transform_groups", _PACKAGE)
    return utils.TaskAwareSupervisedClassificationDataset(
        [SingleImages(images)],
        data_attributes=[
            attributes.DataAttribute(images.labels.tolist(), "targets"),
            attributes.TaskLabels(utils.ConstantSequence(0, len(images))),
        ],
        transform_groups=groups.TransformGroups({"train": train, "eval": evaluation}),
    )


# module-level functions, because a data loader's workers may have to unpickle them
def _augmented(presentation: Presentation, one: ImageSet) -> Tensor:
    return presentation.training(one, torch.default_generator, torch.default_generator)[0]


def _unaugmented(presentation: Presentation, one: ImageSet) -> Tensor:
    return presentation.unaugmented(one)[0]


def _unchanged(presentation: Presentation, one: ImageSet) -> Tensor:
    return presentation.normalised(one.images)[0]
