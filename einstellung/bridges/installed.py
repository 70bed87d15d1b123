"""Import optional frameworks on demand; a missing one is reported in one line."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import torch

from einstellung.errors import InputError

# The operators that torchvision's Python code refers to, whether or not its compiled part could be loaded.
_OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_declared: list[torch.library.Library] = []  # a declaration lives as long as its library object


def import_framework(module: str, package: str) -> ModuleType:
    """Import ``module``, or raise an error that names the package to install.

    >>> import_framework("json", "json").__name__
    'json'
    >>> import_framework("no_such_framework.plugins", "no-such-framework")
    Traceback (most recent call last):
    einstellung.errors.InputError: this bridge needs no-such-framework: pip install no-such-framework
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == module.partition(".")[0]:
            raise InputError(f"this bridge needs {package}: pip install {package}") from error
        raise InputError(f"{package} cannot be imported: '{error.name}' is missing; install it too") from error
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
        raise InputError(
            f"{package} cannot be imported: torchvision's compiled part does not fit this torch ({error}); install one that "
            "does, or call einstellung.bridges.installed.declare_torchvision_operators() before the first import of it"
        ) from error


def declare_torchvision_operators() -> bool:
    """Make torchvision importable if its compiled part cannot be loaded; returns whether that was necessary.

    A torchvision built for CUDA cannot be loaded with a CPU-only torch: its import fails because two operators are unknown.
    They are declared here without an implementation. Code that does not use them (avalanche, timm, lightning) works, and
    calling them raises torch's own error. Call this before torchvision is imported.
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
