"""The parts of Mammoth that this bridge relies on: names, parameters and defaults of the tested version."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from einstellung.errors import with_advice

#: The tested commit of https://github.com/aimagelab/mammoth, which the table below describes.
COMMIT = "e75a491c69fd729edeb01431afb753d9157d9a81"

RELIED_ON = {
    "main:main": "(args=None)",
    "main:parse_args": "(cmd=None, return_parser_only=False, verbose=False)",
    "datasets:register_dataset": "(name)",
    "datasets:get_dataset": "(args)",
    "datasets.utils:set_default_from_args": "(arg_name)",
    "datasets.utils.continual_dataset:ContinualDataset.__init__": "(self, args)",
    "datasets.utils.continual_dataset:ContinualDataset.evaluate": "(model, dataset, last=False, return_loss=False)",
    "datasets.utils.continual_dataset:store_masked_loaders": "(train_dataset, test_dataset, setting)",
    "datasets.transforms.denormalization:DeNormalize.__init__": "(self, mean, std)",
    "models:get_model": "(args, backbone, loss, transform, dataset)",
    "models.utils.continual_model:ContinualModel.__init__": "(self, backbone, loss, args, transform, dataset=None)",
    "models.utils.continual_model:ContinualModel.forward": "(self, x)",
    "models.utils.continual_model:ContinualModel.meta_begin_task": "(self, dataset)",
    "models.utils.continual_model:ContinualModel.meta_observe": "(self, *args, **kwargs)",
    "models.utils.continual_model:ContinualModel.meta_end_epoch": "(self, epoch, dataset)",
    "models.utils.continual_model:ContinualModel.meta_end_task": "(self, dataset)",
    "utils.augmentations:apply_transform": "(x, transform, autosqueeze=False)",
    "utils.kornia_utils:KorniaAugNoGrad.__init__": "(self, *args, **kwargs)",
    "utils.kornia_utils:to_kornia_transform": "(transform, apply=True, override_p=None)",
}


def check_contract() -> None:
    """Compare the importable Mammoth with the table; an error lists the differences."""
    differs = [
        f"{name}{found} instead of {name}{expected}"
        for name, expected in RELIED_ON.items()
        if (found := signature_of(name)) != expected
    ]
    if differs:
        raise with_advice(
            ["this version of Mammoth is not supported", *differs], f"use a checkout of commit {COMMIT[:10]}"
        )


def signature_of(name: str) -> str:
    """Parameters and defaults of ``module:qualified.name`` without types, or " is missing".

    >>> signature_of("json:dumps")[:17], signature_of("json:no_such"), signature_of("no_such_module:main")
    ('(obj, *, skipkeys', ' is missing', ' is missing')
    """
    module, _, path = name.partition(":")
    try:
        thing: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            return " is missing"
        raise
    for part in path.split("."):
        if not hasattr(thing, part):
            return " is missing"
        thing = getattr(thing, part)
    signature = inspect.signature(thing)
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
