"""Build what a configuration names: stream, cue, net, learner, optimiser."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from einstellung.backbones.registry import backbone_options, build_backbone
from einstellung.cues import covers, covers_for, cues, cues_for
from einstellung.cues.covers import FROM_AUDIT
from einstellung.errors import InputError, ProblemList
from einstellung.experiments.attention_log import check_attention
from einstellung.experiments.plan import methods_of
from einstellung.experiments.plugins import load_plugins
from einstellung.learners import Context, Learner, make_learner
from einstellung.learners.methods import options_as_data
from einstellung.options import checked_options
from einstellung.results.config import StudyConfig, TrainingConfig, build_config
from einstellung.sources.found_boxes import read_found_boxes
from einstellung.streams import Presentation, Stream, streams
from einstellung.streams.found import cover_found_boxes
from einstellung.streams.stream import modality_of
from einstellung.torch_compat import fuses_updates
from einstellung.training.acceleration import accelerate, resolve_kernels
from einstellung.training.devices import prepare_device
from einstellung.training.precision import Precision, suits_channels_last


def resolve(config: StudyConfig) -> StudyConfig:
    """The configuration with all names and options checked, all defaults written out, and ``auto`` resolved on this machine."""
    plugins = load_plugins(config.plugins)
    config = with_defaults_of_modality(config)
    methods, names = methods_of(config), list(dict.fromkeys([*config.methods, *config.learners, *config.combinations]))
    values, problems = config.model_dump(mode="json"), ProblemList()
    values["plugins"] = [plugin.model_dump() for plugin in plugins]
    sound = False
    with problems.collecting():
        methods.check()
        values["combinations"] = {name: made.as_data() for name, made in methods.used(names).items()}
        sound = True
    for name in dict.fromkeys([*config.methods, *config.learners]) if sound else ():  # a composition may contain itself
        with problems.collecting():
            options = methods.options(name, methods.with_options_of_parts(name, config.learners))
            values["learners"][name] = options_as_data(options)
    with problems.collecting():
        values["training"] |= _resolved(config.training)
    with problems.collecting():
        options = _stream_options(config)
        values["stream"] = {"name": config.stream.name, "input_size": config.stream.input_size, **options}
    with problems.collecting():
        if config.stream.name in streams:  # else reported above
            values |= _cue_and_cover(config)
    with problems.collecting():
        options = backbone_options(config.backbone.name, config.backbone.options)
        values["backbone"] = {"name": config.backbone.name, **options}
    problems.raise_any()
    return build_config(StudyConfig.model_validate(values).model_dump(mode="json"))


def _resolved(training: TrainingConfig) -> dict[str, str]:
    """Device, precision and kernels as resolved on this machine."""
    precision = Precision.resolve(training.precision, training.device)
    kernels = resolve_kernels(training.kernels, precision.name, precision.device, training.compile, training.layout)
    return {"device": str(precision.device), "precision": precision.name, "kernels": kernels}


def _stream_options(config: StudyConfig) -> dict[str, Any]:
    options = checked_options(streams[config.stream.name], "stream", config.stream.options, taken=("cue", "cover"))
    if options.get("phases", ()) is None:
        del options["phases"]  # two phases: keys of runs and configurations are those of before there were more
    return options


def _plants_cue(config: StudyConfig) -> bool:
    """Whether the stream plants a cue, or uses images as they are."""
    return "cue" in inspect.signature(streams[config.stream.name]).parameters


def _cue_and_cover(config: StudyConfig) -> dict[str, Any]:
    if not _plants_cue(config):
        values = {"cue": config.cue, "cover": config.cover}
        given = [key for key, value in values.items() if key in config.model_fields_set and value is not None]
        if given:
            raise InputError(f"{given[0]}: the stream '{config.stream.name}' plants no cue; leave it out")
        if config.audit is not None:
            raise InputError(f"audit: the stream '{config.stream.name}' plants no cue; leave it out")
        return {"cue": None, "cover": None}
    if config.cue is None or config.cover is None:
        missing = "cue" if config.cue is None else "cover"
        raise InputError(f"{missing} is null, but the stream '{config.stream.name}' needs one; remove the line")
    problems, checked = ProblemList(), dict[str, Any]()
    modality = modality_of(config.stream.name).name
    with problems.collecting():
        checked = checked_options(cues[config.cue.name], "cue", config.cue.options)
        _check_modality(config, "cue", config.cue.name, cues_for(modality))
    with problems.collecting():
        covers[config.cover]
        _check_modality(config, "cover", config.cover, covers_for(modality))
    with problems.collecting():
        _check_audit(config)
    problems.raise_any()
    return {"cue": {"name": config.cue.name, **checked}}


def with_defaults_of_modality(config: StudyConfig) -> StudyConfig:
    """The configuration with the cue, cover and backbone that suit the stream's kind of inputs, where none is named."""
    if config.stream.name not in streams:
        return config  # reported with all other problems
    modality, values = modality_of(config.stream.name), dict[str, Any]()
    for key, name in (("cue", modality.default_cue), ("backbone", modality.default_backbone)):
        section = getattr(config, key)
        if section is not None and "name" not in section.model_fields_set and section.name != name:
            values[key] = section.model_copy(update={"name": name})
    if config.cover not in (None, modality.default_cover) and "cover" not in config.model_fields_set:
        values["cover"] = modality.default_cover
    return config.model_copy(update=values)


def _check_modality(config: StudyConfig, kind: str, name: str, suitable: list[str]) -> None:
    """Refuse a cue or cover for another kind of inputs than the stream's."""
    if name not in suitable:
        many = modality_of(config.stream.name).words.many
        raise InputError(
            f"{kind} '{name}' is not for {many}, which the stream '{config.stream.name}' holds: give {', '.join(suitable)}"
        )


def _check_audit(config: StudyConfig) -> None:
    if config.cover == FROM_AUDIT and config.audit is None:
        raise InputError(f"cover is {FROM_AUDIT}: give 'audit', the folder that 'einstellung audit --out' wrote")
    if config.cover != FROM_AUDIT and config.audit is not None:
        raise InputError(
            f"audit is given, but cover is '{config.cover}': set cover to {FROM_AUDIT}, or leave audit out"
        )


def build_stream(config: StudyConfig) -> Stream:
    """The stream, with its cue if it plants one."""
    planted = {}
    if _plants_cue(config):
        assert config.cue is not None, "a resolved configuration"
        make_cue = cues[config.cue.name]
        cue = make_cue(**checked_options(make_cue, "cue", config.cue.options))
        planted = {"cue": cue, "cover": config.cover}
    stream = streams[config.stream.name](**planted, **_stream_options(config))
    if config.cover == FROM_AUDIT:
        stream = cover_found_boxes(stream, read_found_boxes(Path(str(config.audit)).expanduser()))
    stream = replace(stream, input_size=config.stream.input_size)
    if len(stream.phases) != len(config.training.epochs):
        entries, phases = len(config.training.epochs), len(stream.phases)
        raise InputError(
            f"training.epochs has {entries} {'entry' if entries == 1 else 'entries'}, but the stream '{stream.name}' has "
            f"{phases} {'phase' if phases == 1 else 'phases'}"
        )
    return stream


def build_learner(config: StudyConfig, method: str, seed: int, stream: Stream) -> Learner:
    """A learner with a newly initialised net, ready for its first phase."""
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
        # only in this layout: their output is channels last, which not every net accepts
        accelerate(net)
    if training.compile:
        net.compile()
    context = Context(
        seed=seed,
        presentation=Presentation(stream, precision.device, channels_last),
        autocast=precision.autocast,
        make_optimiser=lambda parameters: _optimiser(parameters, training, precision.device),
        device=precision.device,
        phases=stream.phases,
        initial=lambda: fresh().state_dict(),
        batch_size=training.batch_size,
    )
    return make_learner(method, config.learners.get(method, {}), net, context, methods_of(config))


def _channels_last(net: nn.Module, training: TrainingConfig, device: torch.device) -> bool:
    suits = suits_channels_last(net, device)
    if training.layout == "channels_last" and not suits:
        raise InputError(
            "training.layout is 'channels_last', which needs convolutions with 8, 16, ... outputs and no Apple GPU; "
            "give auto"
        )
    return suits and training.layout != "contiguous"


def check_backbone(config: StudyConfig, stream: Stream) -> None:
    """Run the net on one image, so that a net that does not fit the stream is refused before training."""
    learner = build_learner(without_compilation(config), "sgd", 0, stream)
    one = stream.phases[0].train.take(torch.arange(1))
    inputs = learner.context.presentation.unaugmented(one)
    try:
        with torch.no_grad():
            outputs = learner.net.eval()(inputs)
    except RuntimeError as error:
        side, modality = stream.input_size, stream.modality
        size = f"{side}x{side}" if side else modality.size(one.images)
        reason = str(error).splitlines()[0]
        raise InputError(
            f"backbone '{config.backbone.name}' does not fit {modality.words.many} of {size}: {reason}"
        ) from None
    if outputs.shape != (1, stream.n_outputs):
        raise InputError(
            f"backbone '{config.backbone.name}' returns {tuple(outputs.shape)}, not (1, {stream.n_outputs})"
        )
    if config.attention is not None:
        check_attention(config.attention, stream, learner.net, inputs, max(config.training.epochs))


def without_compilation(config: StudyConfig) -> StudyConfig:
    """The same study without compiled code, which does not pay off for a few steps."""
    training = config.training.model_copy(update={"compile": False, "kernels": "torch"})
    return config.model_copy(update={"training": training})


def check_groups(config: StudyConfig, stream: Stream) -> None:
    """Refuse methods that need to know the spurious features of images if the stream does not provide them."""
    known = stream.cue is not None or all(phase.train.features is not None for phase in stream.phases)
    methods = methods_of(config)
    for method in config.methods:
        if methods[method].needs_groups and not known:
            raise InputError(
                f"{method} needs the spurious features of every image, which the stream '{stream.name}' does not provide for "
                "these images; leave the method out, or use images with a scenes.jsonl"
            )


def _optimiser(
    parameters: Iterable[nn.Parameter], training: TrainingConfig, device: torch.device
) -> torch.optim.Optimizer:
    fused = fuses_updates(device)
    if training.optimiser == "adam":
        return torch.optim.Adam(parameters, lr=training.lr, weight_decay=training.weight_decay, fused=fused)
    return torch.optim.SGD(
        parameters, lr=training.lr, momentum=training.momentum, weight_decay=training.weight_decay, fused=fused
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
