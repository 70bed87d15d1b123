"""From names in a configuration to the things they stand for."""

from __future__ import annotations

import copy
import hashlib
import inspect
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from einstellung.backbones.registry import backbone_options, build_backbone
from einstellung.cues import covers, cues
from einstellung.errors import InputError
from einstellung.experiments.attention_log import check_attention
from einstellung.experiments.plugins import load_plugins, place_in_plugin, plugins_behind
from einstellung.kernels import accelerate, available, require_available
from einstellung.learners import Batch, Context, InTurn, Learner, learners, make_learner
from einstellung.learners.combined import classes_behind, with_options_of_parts
from einstellung.learners.learner import learner_options, options_as_data
from einstellung.metrics.confounding_settings import DEFAULT_TAU as CONFOUNDING_TAU
from einstellung.options import checked_options
from einstellung.results.config import StudyConfig, TrainingConfig, build_config
from einstellung.streams import Presentation, Stream, streams
from einstellung.streams.transfer import to_device
from einstellung.training.checkpoint import state_bytes
from einstellung.training.devices import prepare_device
from einstellung.training.precision import Precision, suits_channels_last


def resolve(config: StudyConfig) -> StudyConfig:
    """Every name and option checked, every default written out, ``auto`` replaced by what it means on this machine."""
    plugins = load_plugins(config.plugins)
    methods = dict.fromkeys([*config.methods, *config.learners])
    values = config.model_dump(mode="json")
    values["plugins"] = [plugin.model_dump() for plugin in plugins]
    values["learners"] = {
        name: options_as_data(learner_options(name, with_options_of_parts(name, config.learners))) for name in methods
    }
    values["training"] |= _resolved(config.training)
    values |= _cue_and_cover(config)
    if not _plants_cue(config) and "tau" not in config.score.model_fields_set:
        values["score"] |= {"tau": CONFOUNDING_TAU}  # where chance is one half, the index's own threshold is a low one
    values["stream"] = {"name": config.stream.name, "shown_size": config.stream.shown_size, **_stream_options(config)}
    values["backbone"] = {
        "name": config.backbone.name,
        **backbone_options(config.backbone.name, config.backbone.options),
    }
    return build_config(StudyConfig.model_validate(values).model_dump(mode="json"))


def _resolved(training: TrainingConfig) -> dict[str, str]:
    """What device, precision and kernels mean on this machine."""
    precision = Precision.resolve(training.precision, training.device)
    possible = precision.name == "fp32" and precision.device.type == "cpu"
    possible = possible and not training.compile and training.layout != "contiguous"
    kernels = training.kernels
    if kernels == "own":
        if not possible:
            raise InputError(
                "training.kernels is 'own': they are for the CPU in fp32, channels last, without compile; give auto or torch"
            )
        require_available()
    if kernels == "auto":
        kernels = "own" if possible and available() else "torch"
    return {"device": str(precision.device), "precision": precision.name, "kernels": kernels}


def _stream_options(config: StudyConfig) -> dict[str, Any]:
    return checked_options(streams[config.stream.name], "stream", config.stream.options, taken=("cue", "cover"))


def _plants_cue(config: StudyConfig) -> bool:
    """Whether the stream takes a cue to paint, or has in its pictures what there is."""
    return "cue" in inspect.signature(streams[config.stream.name]).parameters


def _cue_and_cover(config: StudyConfig) -> dict[str, Any]:
    if not _plants_cue(config):
        given = [key for key in ("cue", "cover") if key in config.model_fields_set and getattr(config, key) is not None]
        if given:
            raise InputError(f"{given[0]}: the stream '{config.stream.name}' plants none; leave it out")
        return {"cue": None, "cover": None}
    if config.cue is None or config.cover is None:
        missing = "cue" if config.cue is None else "cover"
        raise InputError(f"{missing} is null, but the stream '{config.stream.name}' needs one; leave the line out")
    covers[config.cover]
    return {"cue": {"name": config.cue.name, **checked_options(cues[config.cue.name], "cue", config.cue.options)}}


def build_stream(config: StudyConfig) -> Stream:
    """The stream with its cue, where it plants one."""
    planted = {}
    if _plants_cue(config):
        assert config.cue is not None, "a resolved configuration"
        make_cue = cues[config.cue.name]
        cue = make_cue(**checked_options(make_cue, "cue", config.cue.options))
        planted = {"cue": cue, "cover": config.cover}
    stream = streams[config.stream.name](**planted, **_stream_options(config))
    stream = replace(stream, shown_size=config.stream.shown_size)
    if len(stream.phases) != len(config.training.epochs):
        raise InputError(
            f"training.epochs has {len(config.training.epochs)} entries, the stream '{stream.name}' {len(stream.phases)} phases"
        )
    return stream


def build_learner(config: StudyConfig, method: str, seed: int, stream: Stream) -> Learner:
    """A fresh net and its learner, ready for a first phase."""
    training = config.training
    resolved = _resolved(training)
    precision = Precision.resolve(resolved["precision"], resolved["device"])
    prepare_device(precision.device, training.matmul)

    def fresh() -> nn.Module:
        return build_backbone(config.backbone.name, config.backbone.options, stream.n_outputs, seed)

    net = fresh().to(precision.device)
    channels_last = _channels_last(net, training, precision.device)
    if channels_last:
        net = net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    if channels_last and resolved["kernels"] == "own":
        # never in the other layout: what they give is channels last, which not every net may be fed with
        accelerate(net)
    if training.compile:
        net.compile()
    context = Context(
        seed=seed,
        presentation=Presentation(stream, precision.device, channels_last),
        autocast=precision.autocast,
        make_optimiser=lambda parameters: _optimiser(parameters, training),
        device=precision.device,
        phases=stream.phases,
        initial=lambda: fresh().state_dict(),
    )
    return make_learner(method, config.learners.get(method, {}), net, context)


def _channels_last(net: nn.Module, training: TrainingConfig, device: torch.device) -> bool:
    suits = suits_channels_last(net, device)
    if training.layout == "channels_last" and not suits:
        raise InputError(
            "training.layout is 'channels_last', which this net or device does not suit (convolutions with 8, 16, ... outputs, "
            "no Apple GPU); give auto"
        )
    return suits and training.layout != "contiguous"


def check_backbone(config: StudyConfig, stream: Stream) -> None:
    """Let the net see one image: a net that does not fit the stream is found before anything is trained."""
    learner = build_learner(_quickly(config), "sgd", 0, stream)
    one = stream.phases[0].train.take(torch.arange(1))
    inputs = learner.context.presentation.unaugmented(one)
    try:
        with torch.no_grad():
            outputs = learner.net.eval()(inputs)
    except RuntimeError as error:
        side = stream.shown_size
        size = f"{side}x{side}" if side else "x".join(map(str, one.images.shape[-2:]))
        reason = str(error).splitlines()[0]
        raise InputError(f"backbone '{config.backbone.name}' does not fit images of {size}: {reason}") from None
    if outputs.shape != (1, stream.n_outputs):
        raise InputError(f"backbone '{config.backbone.name}' gives {tuple(outputs.shape)}, not (1, {stream.n_outputs})")
    if config.attention is not None:
        check_attention(config.attention, stream, learner.net, inputs, max(config.training.epochs))


def _quickly(config: StudyConfig) -> StudyConfig:
    """The same, for a net that is only looked at: nothing is compiled for it."""
    training = config.training.model_copy(update={"compile": False, "kernels": "torch"})
    return config.model_copy(update={"training": training})


def check_learners(config: StudyConfig, stream: Stream) -> None:
    """Make every learner once: one that cannot work with this net or these phases is found before anything is trained.

    Of a learner from a plug-in, one step and a look at its memory: there may be a slip in it.
    """
    phase = stream.phases[-1]
    some = phase.train.take(torch.arange(min(4, len(phase.train))))
    plain: Learner | None = None
    for method in config.methods:
        if issubclass(learners[method], InTurn) and len(stream.phases) == 1:
            raise InputError(f"'{method}' needs a second phase, and the stream '{stream.name}' has one only")
        if not plugins_behind(classes_behind(method)):
            plain = plain or build_learner(_quickly(config), "sgd", 0, stream)
            # a copy for each: some put several last layers in the place of one
            learner = make_learner(method, config.learners.get(method, {}), copy.deepcopy(plain.net), plain.context)
            learner.take_last_shape()
            continue
        learner = build_learner(config, method, 0, stream)
        try:
            learner.take_last_shape()
            learner.begin_phase(phase)
            learner.begin_epoch(phase, 1)
            inputs = learner.context.presentation.unaugmented(some)
            loss = learner.observe(Batch(inputs, to_device(some.labels, inputs.device), some))
            state_bytes(learner.state_dict())
        except Exception as error:
            what = f"{type(error).__name__}: {error}".splitlines()[0] if not isinstance(error, InputError) else error
            raise InputError(f"learner '{method}': {what}{place_in_plugin(error, config.plugins)}") from error
        if loss is None:
            raise InputError(f"learner '{method}': observe returned nothing; end it with 'return self.step(loss)'")


def check_groups(config: StudyConfig, stream: Stream) -> None:
    """A method that must know the spurious features of images is refused where nobody tells it."""
    known = stream.cue is not None or all(phase.train.features is not None for phase in stream.phases)
    for method in config.methods:
        if learners[method].needs_groups and not known:
            raise InputError(
                f"{method} needs to know which spurious features are in an image, and the stream '{stream.name}' does not know "
                "of these pictures; leave the method out, or give pictures with a scenes.jsonl"
            )


def _optimiser(parameters: Iterable[nn.Parameter], training: TrainingConfig) -> torch.optim.Optimizer:
    if training.optimiser == "adam":
        return torch.optim.Adam(parameters, lr=training.lr, weight_decay=training.weight_decay, fused=True)
    return torch.optim.SGD(
        parameters, lr=training.lr, momentum=training.momentum, weight_decay=training.weight_decay, fused=True
    )


def data_digests(stream: Stream) -> dict[str, str]:
    """A hash of the pixels, labels, identities, cue flags and spurious features of every phase and split."""
    digests = {}
    sets = [(phase.name, phase.train) for phase in stream.phases]
    sets += [(split.name, split.images) for split in stream.splits]
    for name, images in sets:
        hasher = hashlib.sha256()
        tensors = (images.images, images.labels, images.index, images.has_cue, images.features)
        for tensor in (tensor for tensor in tensors if tensor is not None):
            hasher.update(tensor.contiguous().numpy().tobytes())
        digests[name] = hasher.hexdigest()[:16]
    return digests
