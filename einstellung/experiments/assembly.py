"""From names in a configuration to the things they stand for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import torch
from torch import nn

from einstellung.backbones import build_backbone
from einstellung.cues import covers, cues
from einstellung.errors import InputError
from einstellung.experiments.config import StudyConfig, TrainingConfig
from einstellung.learners import Context, Learner, learners, make_learner
from einstellung.learners.learner import learner_options
from einstellung.options import checked_options
from einstellung.streams import Presentation, Stream, streams
from einstellung.training.precision import Precision, suits_channels_last


def resolve(config: StudyConfig) -> StudyConfig:
    """``auto`` settings replaced by what they mean on this machine, every name and option checked."""
    for method in config.methods:
        learner_options(method, config.learners.get(method, {}))
    for method in config.learners:
        learners[method]
    covers[config.cover]
    precision = Precision.resolve(config.training.precision, config.training.device).name
    if precision == config.training.precision:
        return config
    return config.model_copy(update={"training": config.training.model_copy(update={"precision": precision})})


def build_stream(config: StudyConfig) -> Stream:
    """The stream with its cue; an unknown option is named with a suggestion."""
    make_cue, make_stream = cues[config.cue.name], streams[config.stream.name]
    cue = make_cue(**checked_options(make_cue, "cue", config.cue.options))
    options = checked_options(make_stream, "stream", config.stream.options, taken=("cue", "cover"))
    stream = make_stream(cue=cue, cover=config.cover, **options)
    if len(stream.phases) != len(config.training.epochs):
        raise InputError(
            f"training.epochs has {len(config.training.epochs)} entries, the stream '{stream.name}' {len(stream.phases)} phases"
        )
    return stream


def build_learner(config: StudyConfig, method: str, seed: int, stream: Stream) -> Learner:
    """A fresh net and its learner, ready for a first phase."""
    training = config.training
    precision = Precision.resolve(training.precision, training.device)
    net = build_backbone(config.backbone.name, config.backbone.options, stream.n_outputs, seed).to(precision.device)
    channels_last = suits_channels_last(net)
    if channels_last:
        net = net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    context = Context(
        seed=seed,
        presentation=Presentation(stream, precision.device, channels_last),
        autocast=precision.autocast,
        make_optimiser=lambda parameters: _sgd(parameters, training),
        device=precision.device,
    )
    return make_learner(method, config.learners.get(method, {}), net, context)


def _sgd(parameters: Iterable[nn.Parameter], training: TrainingConfig) -> torch.optim.Optimizer:
    return torch.optim.SGD(
        parameters, lr=training.lr, momentum=training.momentum, weight_decay=training.weight_decay, fused=True
    )


def data_digests(stream: Stream) -> dict[str, str]:
    """A hash of the pixels, labels, identities and cue flags of every phase and split."""
    digests = {}
    sets = [(phase.name, phase.train) for phase in stream.phases]
    sets += [(split.name, split.images) for split in stream.splits]
    for name, images in sets:
        hasher = hashlib.sha256()
        for tensor in (images.images, images.labels, images.index, images.bears):
            hasher.update(tensor.contiguous().numpy().tobytes())
        digests[name] = hasher.hexdigest()[:16]
    return digests
