"""Other people's frameworks are imported when they are used, and their absence is one clear line."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import torch

from einstellung.errors import InputError

# What torchvision describes to torch in Python whether or not its compiled part could be loaded.
_OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_declared: list[torch.library.Library] = []  # torch forgets a declaration with its library


def needed(module: str, package: str) -> ModuleType:
    """Import ``module``, or say in one line which package to install.

    >>> needed("json", "json").__name__
    'json'
    >>> needed("no_such_framework.plugins", "no-such-framework")
    Traceback (most recent call last):
    einstellung.errors.InputError: this bridge needs no-such-framework: pip install no-such-framework
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == module.partition(".")[0]:
            raise InputError(f"this bridge needs {package}: pip install {package}") from error
        raise InputError(f"{package} cannot be imported: it misses '{error.name}'; install that too") from error
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
        raise InputError(
            f"{package} cannot be imported: torchvision's compiled part does not fit this torch ({error}); install one that "
            "does, or call einstellung.bridges.installed.declare_torchvision_operators() before the first import of it"
        ) from error


def declare_torchvision_operators() -> bool:
    """Make torchvision importable where its compiled part cannot be loaded; whether that was necessary.

    A torchvision that was built for CUDA does not load beside a torch without it, and stops at its first import because two
    operators are unknown. They are declared here without any content: what does not use them (avalanche, timm, lightning)
    works, and whoever calls them is told by torch that there is nothing behind them. Call it before torchvision is imported.
    """
    spec = find_spec("torchvision")
    if spec is None or _declared:
        return bool(_declared)
    for compiled in (one for place in spec.submodule_search_locations or () for one in Path(place).glob("_C*.so")):
        try:
            torch.ops.load_library(str(compiled))
        except OSError:
            continue
        return False
    library = torch.library.Library("torchvision", "DEF")
    for operator in _OPERATORS:
        library.define(operator)
    _declared.append(library)
    return True
