"""Translate the guide's keys and data set names into our configuration. No torch here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from einstellung.errors import InputError
from einstellung.registry import suggestion
from einstellung.results.config import (
    PluginConfig,
    StudyConfig,
    build_config,
    merged,
    read_preset,
    with_assignments,
    with_value,
)

Log = Callable[[str], None]

PRESET = "guide"
STRATEGIES = ("sgd", "ewc_on", "derpp")
SEEDS = (42, 123, 456, 789, 1011)
_STREAM = "cifar100"  # of every data set of the guide
DATASETS: dict[str, int | None] = {"seq-cifar100-einstellung": None, "seq-cifar100-einstellung-224": 224}
WITH_ATTENTION = {"vit": None, "vit_base_patch16_224": 224}  # and the side of the images they are made for
_WITHOUT_ATTENTION = ("resnet18",)

# Mammoth's levels: 1 is TF32 for matrices, 2 is bf16, 3 is bf16 with a compiled net.
CODE_OPTIMIZATION: dict[int, dict[str, Any]] = {
    0: {"precision": "fp32", "matmul": "highest", "compile": False},
    1: {"precision": "fp32", "matmul": "high", "compile": False},
    2: {"precision": "bf16", "matmul": "medium", "compile": False},
    3: {"precision": "bf16", "matmul": "medium", "compile": True},
}

_SAME_VALUE = {
    "batch_size": "training.batch_size",
    "lr": "training.lr",
    "optim_mom": "training.momentum",
    "optim_wd": "training.weight_decay",
    "lr_milestones": "training.milestones",
    "device": "training.device",
    "einstellung_patch_size": "cue.size",
    "einstellung_patch_color": "cue.colour",
    "einstellung_patch_place": "cue.place",
    "einstellung_mask_cover": "cover",
    "einstellung_t1_superclasses": "stream.t1",
    "einstellung_t2_superclasses": "stream.t2",
    "einstellung_shortcut_superclasses": "stream.shortcut",
    "einstellung_adaptation_threshold": "companions.guide.guide_threshold",
}
_OF_LEARNERS = {
    "buffer_size": "buffer",
    "minibatch_size": "draw",
    "alpha": "alpha",
    "beta": "beta",
    "e_lambda": "e_lambda",
    "gamma": "gamma",
}
_OTHERS = (
    "dataset",
    "model",
    "seed",
    "n_epochs",
    "code_optimization",
    "csv_log",
    "tensorboard",
    "einstellung_apply_shortcut",
    "einstellung_evaluation_subsets",
    "einstellung_extract_attention",
    "einstellung_attention_epochs",
)
_OTHER_SPELLINGS = {"ewc-on": "ewc_on", "scratch-t2": "scratch_t2"}  # Mammoth's, and the same style for ours
KEYS = (*_OTHERS, *_SAME_VALUE, *_OF_LEARNERS)


def translated(values: Mapping[str, Any], log: Log = lambda line: None) -> dict[str, Any]:
    """Translate a configuration that may mix the guide's keys with ours; one without the guide's keys stays as it is.

    Settings that neither names are as in the preset ``guide``. Where both name a setting, the guide's key wins, but a ``dataset``
    that contradicts the stream is an error. ``log`` receives a line for anything a reader of the file would not expect.

    >>> changed = translated({"model": "derpp", "einstellung_patch_size": 6, "training": {"lr": 0.1}})
    >>> changed["methods"], changed["cue"]["size"], changed["training"]["lr"], changed["cue"]["place"]
    (['derpp'], 6, 0.1, 'per-index')
    >>> translated({"einstellung_patch_sise": 6})
    Traceback (most recent call last):
    einstellung.errors.InputError: unknown key 'einstellung_patch_sise': did you mean 'einstellung_patch_size'?
    """
    _refuse_unknown(values)
    if not any(key in KEYS for key in values):
        return dict(values)
    result = merged(merged(read_preset(PRESET), values), {"companions": {"guide": {}}})
    return fitted_to_backbone(with_guide_keys(result, log), dataset_chosen="dataset" in values)


def with_guide_keys(values: Mapping[str, Any], log: Log = lambda line: None) -> dict[str, Any]:
    """Move the guide's keys among ``values`` to their place in our configuration; nothing else changes.

    >>> with_guide_keys({"lr": 0.1, "seed": 7})
    {'training': {'lr': 0.1}, 'seeds': [7]}
    """
    values = _with_companion(values)
    _refuse_unknown(values)
    result = {key: value for key, value in values.items() if key not in KEYS}
    given = {key: values[key] for key in KEYS if key in values}
    if not given:
        return result
    ours = build_config(result, None)  # validates everything that is read below
    # One name may stand for a list of one.
    result |= {key: list(getattr(ours, key)) for key in ("methods", "seeds", "logging") if key in result}
    for key, place in _SAME_VALUE.items():
        if key in given:
            result = with_value(result, place, given[key])
    for key, put in _PUT.items():
        if key in given:
            result = merged(result, put(given[key], result))
    for key in (key for key in _OF_LEARNERS if key in given):
        result = merged(result, {"learners": _learner_option(key, given[key], result, ours.plugins)})
    return _with_attention(result, given, log)


def _with_companion(values: Mapping[str, Any]) -> dict[str, Any]:
    """Translate ``guide_files`` and ``score.guide_threshold``: the guide's variant in addition to the study's own diagnosis.

    >>> _with_companion({"guide_files": True, "score": {"tau": 0.5, "guide_threshold": 0.7}})
    {'score': {'tau': 0.5}, 'companions': {'guide': {'guide_threshold': 0.7}}}
    """
    result = dict(values)
    if "guide_files" in result:
        asked, given = _truth("guide_files", result.pop("guide_files")), result.get("companions") or {}
        if not isinstance(given, Mapping):
            return result  # building the configuration reports the error
        companions = {name: own for name, own in given.items() if name != "guide"}
        if asked:
            companions["guide"] = given.get("guide") or {}
        result["companions"] = companions
    score = result.get("score")
    if isinstance(score, Mapping) and "guide_threshold" in score:
        result["score"] = {key: value for key, value in score.items() if key != "guide_threshold"}
        result = with_value(result, "companions.guide.guide_threshold", score["guide_threshold"])
    return result


def fitted_to_backbone(values: dict[str, Any], dataset_chosen: bool = False) -> dict[str, Any]:
    """Turn attention on for a vision transformer unless the configuration decides, and enlarge images to its input size.

    >>> values = fitted_to_backbone({"stream": {"name": "cifar100"}, "backbone": {"name": "vit_base_patch16_224"}})
    >>> values["stream"], values["attention"]
    ({'name': 'cifar100', 'input_size': 224}, {})
    """
    name, stream = backbone_name(values), values["stream"]
    if name not in WITH_ATTENTION:
        return values
    values = {"attention": {}, **values}
    size = WITH_ATTENTION[name]
    if size is None or not isinstance(stream, Mapping) or stream.get("input_size") == size:
        return values
    if dataset_chosen:
        fitting = next(dataset for dataset, shown in DATASETS.items() if shown == size)
        raise InputError(f"backbone '{name}' takes images of {size}x{size}: write dataset: {fitting}")
    return values if "input_size" in stream else with_value(values, "stream.input_size", size)


def with_its_backbone(values: Mapping[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """The backbone and, if named, the data set of ``--set``: other settings depend on them, so they come first.

    >>> with_its_backbone({"backbone": "resnet18"}, ["backbone=vit", "lr=0.1"])
    {'backbone': 'vit'}
    """
    first = {"backbone", *({"dataset"} & set(values))}
    return with_assignments(
        values, [one for one in assignments if one.partition("=")[0].split(".")[0].strip() in first]
    )


def listed(key: str, value: Any) -> list[Any]:
    """One name, a comma list of names, or a list.

    >>> listed("model", "sgd, ewc-on"), listed("model", ["derpp"])
    (['sgd', 'ewc_on'], ['derpp'])
    """
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names) or not names:
        raise InputError(f"{key} is {value!r}: give a name, or several separated by commas")
    plain = [_OTHER_SPELLINGS.get(name.strip(), name.strip()) for name in names if name.strip()]
    if not plain:
        raise InputError(f"{key} is {value!r}: give a name, or several separated by commas")
    return list(dict.fromkeys(plain))


def training_for(epochs: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """``n_epochs`` for both phases, or for each; the milestones of the learning rate keep their share of the epochs.

    >>> training_for(10, {"training": {"milestones": [35, 45]}})
    {'training': {'epochs': [10, 10], 'milestones': [[7, 9], [7, 9]]}}
    """
    both = epochs if isinstance(epochs, list | tuple) else [epochs, epochs]
    if len(both) != 2 or not all(isinstance(n, int) and not isinstance(n, bool) and n >= 1 for n in both):
        raise InputError(f"n_epochs is {epochs!r}: give one whole number from 1, or one for each of the two phases")
    training: dict[str, Any] = {"epochs": list(both)}
    usual = read_preset(PRESET)["training"]
    if list((values.get("training") or {}).get("milestones", usual["milestones"])) == usual["milestones"]:
        shares = [at / usual["epochs"][0] for at in usual["milestones"]]
        training["milestones"] = [sorted({max(1, round(share * n)) for share in shares}) for n in both]
    return {"training": training}


def backbone_name(values: Mapping[str, Any]) -> str:
    backbone = values.get("backbone", "resnet18")
    return str(backbone.get("name", "resnet18") if isinstance(backbone, Mapping) else backbone)


def _dataset(name: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(name, str) or name not in DATASETS:
        hint = suggestion(str(name), DATASETS)
        raise InputError(f"Integration not enabled: dataset '{name}' is none of the guide's: {hint}")
    stream = values.get("stream")
    other = stream.get("name", _STREAM) if isinstance(stream, Mapping) else stream or _STREAM
    if other != _STREAM:
        raise InputError(f"dataset '{name}' and stream.name '{other}' contradict each other: remove one of them")
    return {"stream": {"name": _STREAM, "input_size": DATASETS[name]}}


def _code_optimization(level: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(level, int) or isinstance(level, bool) or level not in CODE_OPTIMIZATION:
        raise InputError(f"code_optimization is {level!r}: give 0, 1, 2 or 3")
    return {"training": CODE_OPTIMIZATION[level]}


def _apply_shortcut(applied: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    # Without it no training image has the cue; evaluation still shows it, so that its effect can be measured.
    return {} if _truth("einstellung_apply_shortcut", applied) else {"cue": {"share": 0.0}}


def _evaluation_subsets(every_epoch: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "evaluation": {"subsets": "every-epoch" if _truth("einstellung_evaluation_subsets", every_epoch) else "end"}
    }


def _log(kind: str, key: str) -> Callable[[Any, Mapping[str, Any]], dict[str, Any]]:
    def put(wanted: Any, values: Mapping[str, Any]) -> dict[str, Any]:
        others = [other for other in values.get("logging", ()) if other != kind]
        return {"logging": [*others, kind] if _truth(key, wanted) else others}

    return put


_PUT: dict[str, Callable[[Any, Mapping[str, Any]], dict[str, Any]]] = {
    "dataset": _dataset,
    "model": lambda given, values: {"methods": listed("model", given)},
    "seed": lambda given, values: {"seeds": [given]},
    "n_epochs": training_for,
    "code_optimization": _code_optimization,
    "csv_log": _log("csv", "csv_log"),
    "tensorboard": _log("tensorboard", "tensorboard"),
    "einstellung_apply_shortcut": _apply_shortcut,
    "einstellung_evaluation_subsets": _evaluation_subsets,
}


def _learner_option(key: str, value: Any, values: Mapping[str, Any], plugins: Sequence[PluginConfig]) -> dict[str, Any]:
    """The option, for every method of the study that has it, plug-ins included."""
    from einstellung.experiments.plan import methods_of
    from einstellung.experiments.plugins import load_plugins

    load_plugins(plugins)
    methods, known = values.get("methods", ()), methods_of(build_config(values, None))
    having = [name for name in methods if _OF_LEARNERS[key] in {field.name for field in fields(known[name].Options)}]
    if not having:
        raise InputError(f"{key} is given, but none of the models ({', '.join(methods)}) has it: remove it")
    return {name: {_OF_LEARNERS[key]: value} for name in having}


def _with_attention(values: dict[str, Any], given: Mapping[str, Any], log: Log) -> dict[str, Any]:
    key, epochs_key = "einstellung_extract_attention", "einstellung_attention_epochs"
    if key not in given and epochs_key not in given:
        return values
    wanted = _truth(key, given.get(key, True))
    if epochs_key in given and not wanted:
        raise InputError(f"{epochs_key} is given, but {key} is false: remove one of them")
    name = backbone_name(values)
    if wanted and name in _WITHOUT_ATTENTION:
        log(f"{key}: backbone '{name}' has no attention, so none is extracted")
        wanted = False
    if not wanted:
        return {**values, "attention": None}
    section = values.get("attention") or {}
    return {**values, "attention": {**section, **({"epochs": given[epochs_key]} if epochs_key in given else {})}}


def _truth(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{key} is {value!r}: give true or false")
    return value


def _refuse_unknown(values: Mapping[str, Any]) -> None:
    """Report an unknown key that resembles one of the guide's; those that resemble ours are reported elsewhere."""
    ours = set(StudyConfig.model_fields)
    for key in (str(key) for key in values if key not in KEYS and key not in ours):
        if key.startswith("einstellung_"):
            raise InputError(
                f"unknown key '{key}': {suggestion(key, [k for k in KEYS if k.startswith('einstellung_')])}"
            )
        hint = suggestion(key, KEYS)
        if _is_guess(hint) and not _is_guess(suggestion(key, ours)):
            raise InputError(f"unknown key '{key}': {hint}")


def _is_guess(hint: str) -> bool:
    return hint.startswith("did you mean")
