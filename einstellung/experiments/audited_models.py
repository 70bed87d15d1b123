"""Models for an audit: classifiers by name, a weights file with one of our backbones, or any callable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from einstellung.backbones.registry import build_backbone
from einstellung.classifiers import load_classifier
from einstellung.classifiers.classifier import Classifier, last_linear, state_digest
from einstellung.classifiers.labelled import LabelledFiles, open_picture
from einstellung.classifiers.preprocessing import Preprocessing, preprocessing_from
from einstellung.classifiers.weights_file import load_weights_file, read_weights_file
from einstellung.errors import InputError
from einstellung.probes.audit import AuditedModel
from einstellung.probes.nets.subject import ProbedNet

WEIGHTS = (".safetensors", ".pt", ".pth")
_BATCH, _SMALL_BATCH = 64, 8  # larger batches of large images take longer per image on a CPU
_LARGE = 128**2  # pixels


@dataclass(frozen=True)
class WeightsOptions:
    """What a weights file does not contain: its backbone with options, and how to prepare images for it."""

    backbone: str | None = None
    backbone_options: Mapping[str, Any] = field(default_factory=dict)
    mean: Sequence[float] | None = None
    std: Sequence[float] | None = None
    size: int | None = None

    @property
    def given(self) -> list[str]:
        named = {"--backbone": self.backbone, "--mean": self.mean, "--std": self.std, "--size": self.size}
        return [name for name, value in named.items() if value is not None] + (
            ["--backbone-option"] if self.backbone_options else []
        )


def load_by_name(name: str, options: WeightsOptions, files: LabelledFiles) -> Classifier:
    """A classifier by its name, or by its weights file."""
    if name.endswith(WEIGHTS):
        return _from_weights(Path(name).expanduser(), options, files)
    if options.given:
        raise InputError(f"{options.given[0]} is for weights files ({', '.join(WEIGHTS)}); {name} has its own")
    return load_classifier(name)


def _from_weights(file: Path, options: WeightsOptions, files: LabelledFiles) -> Classifier:
    if options.backbone is None:
        raise InputError(f"{file} is a weights file: name its architecture with --backbone, e.g. --backbone resnet18")
    if options.mean is None or options.std is None:
        raise InputError(
            f"{file} is a weights file: give the --mean and --std that it was trained with, for pixels in 0..1"
        )
    outputs = weights_outputs(file, options.backbone, options.backbone_options)
    net = build_backbone(options.backbone, options.backbone_options, outputs, 0)
    load_weights_file(net, file, f"the backbone '{options.backbone}'")
    size = options.size or _common_size(files)
    settings = {"size": size, "resize": size, "mean": options.mean, "std": options.std, "squash": True}
    preprocessing = preprocessing_from(settings, str(file))
    return Classifier(file.name, net.eval(), preprocessing, outputs, state_digest(net))


def weights_outputs(file: Path, backbone: str, options: Mapping[str, Any]) -> int:
    """The number of classes, from the shape of the last layer in a weights file."""
    given = read_weights_file(file)
    probe = build_backbone(backbone, options, 2, 0)
    layer = last_linear(probe, backbone)
    name = next(name for name, module in probe.named_modules() if module is layer) + ".weight"
    if name not in given or given[name].ndim != 2:
        raise InputError(f"{file} lacks the last layer '{name}' of the backbone '{backbone}': give another --backbone")
    return len(given[name])


def _common_size(files: LabelledFiles) -> int:
    """The side of the images, which must be square and of one size."""
    sizes = {open_picture(file).size for file in files.files}
    if len(sizes) > 1 or len(set(next(iter(sizes)))) > 1:
        shown = ", ".join(f"{width}x{height}" for width, height in sorted(sizes)[:3])
        raise InputError(
            f"the images differ in size or are not square ({shown}): give --size, the side of the net's input"
        )
    return next(iter(sizes))[0]


def of_classifier(classifier: Classifier) -> AuditedModel:
    """An image classifier."""

    def prepare(images: Tensor) -> Tensor:
        return classifier.preprocessing.normalised(images).contiguous(memory_format=torch.channels_last)

    return AuditedModel(classifier.name, classifier.net, prepare, _SMALL_BATCH, classifier.net)


def of_stored_net(name: str, stored: ProbedNet) -> AuditedModel:
    """The net of a run."""
    net = stored.net.eval()

    def forward(inputs: Tensor) -> Tensor:
        with stored.autocast():
            return net(inputs).float()  # type: ignore[no-any-return]

    return AuditedModel(name, forward, stored.presentation.normalised, stored.batch_size, net)


def of_callable(
    name: str,
    model: Callable[[Tensor], Tensor],
    mean: Sequence[float] | None,
    std: Sequence[float] | None,
    pixels: int,
) -> AuditedModel:
    """Any function of a batch in 0..1, normalised by ``mean`` and ``std`` if they are given; ``pixels`` of an image."""
    if not callable(model):
        raise InputError(
            f"{name} is {type(model).__name__}: give a torch module or another callable that takes a batch of images"
        )
    net = model if isinstance(model, nn.Module) else None
    if net is not None:
        net.eval()
    batch_size = _SMALL_BATCH if pixels > _LARGE else _BATCH
    if mean is None and std is None:
        return AuditedModel(name, model, batch_size=batch_size, net=net)
    scale = Preprocessing(1, 1, _channels(mean, "mean"), _channels(std, "std"))
    return AuditedModel(name, model, scale.normalised, batch_size, net)


def _channels(values: Sequence[float] | None, what: str) -> tuple[float, float, float]:
    if values is None or len(values) != 3:
        raise InputError(f"{what} is {values}: give mean and std together, three numbers each, or neither")
    first, second, third = map(float, values)
    return first, second, third


def require_answers(model: AuditedModel, images: Tensor, labels: Tensor) -> None:
    """Refuse a model that fails on these images, or whose outputs cannot be audited."""
    try:
        model.logits(images[:2])
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 (the model is the user's code)
        reason = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
        shape = " x ".join(map(str, images.shape[1:]))
        raise InputError(
            f"{model.name} fails on images of {shape} ({reason}): give images of its input size, or fix the model"
        ) from None
    model.check(images, labels)
