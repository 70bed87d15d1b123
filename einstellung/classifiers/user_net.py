"""A user's own net, ``file.py:function``. The file is executed.

The function takes no arguments and returns the net (a ``torch.nn.Module``) and its preprocessing: a dictionary of ``size``,
``mean``, ``std`` and optionally ``resize``, ``interpolation``, ``squash`` and ``weights``, a safetensors file or state_dict in
the same folder. Loading weights never executes code. The classifier's digest covers this file, not others that it imports::

    def mine():
        return Net(), {"size": 224, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "weights": "mine.pt"}
"""

from __future__ import annotations

import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from einstellung.classifiers.classifier import Classifier, state_digest
from einstellung.classifiers.preprocessing import Preprocessing, preprocessing_from
from einstellung.classifiers.weights_file import load_weights_file
from einstellung.errors import InputError
from einstellung.files import digest
from einstellung.sources.reading import file_hash


def from_user_file(name: str) -> Classifier:
    """The classifier that ``file.py:function`` returns."""
    path, _, function = name.rpartition(":")
    file = Path(path).expanduser()
    net, settings = _built(file, function, name)
    if "weights" in settings:
        load_weights_file(net, file.parent / str(settings.pop("weights")), name)
    preprocessing = preprocessing_from(settings, name)
    net.eval()
    weights = digest([state_digest(net), file_hash(file, "sha256")], length=64)
    return Classifier(name, net, preprocessing, _classes(net, preprocessing, name), weights)


@torch.no_grad()
def _classes(net: nn.Module, preprocessing: Preprocessing, name: str) -> int:
    """The number of logits, found with a black image."""
    size = preprocessing.size
    image = preprocessing.normalised(torch.zeros(1, 3, size, size, dtype=torch.uint8))
    try:
        logits = net(image)
    except (Exception, SystemExit) as error:  # the net is the user's
        raise InputError(
            f"{name} fails on an image of 3 x {size} x {size} ({_reason(error)}): fix the net, or its 'size'"
        ) from error
    if not isinstance(logits, Tensor) or logits.ndim != 2 or len(logits) != 1:
        shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise InputError(f"{name} returns {shape} for one image: it must return one row of logits")
    return logits.shape[1]


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0].rstrip(": ")


def _built(file: Path, function: str, name: str) -> tuple[nn.Module, dict[str, Any]]:
    if not file.is_file():
        raise InputError(f"{file} is not a file: write --model file.py:function")
    try:
        build = runpy.run_path(str(file)).get(function)
        if not callable(build):
            raise InputError(f"{file} has no function '{function}': write --model file.py:function")
        built = build()
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # the file is the user's
        raise InputError(f"{name} fails ({_reason(error)}): fix the file") from error
    if (
        not isinstance(built, tuple)
        or len(built) != 2
        or not isinstance(built[0], nn.Module)
        or not isinstance(built[1], Mapping)
    ):
        raise InputError(f"{name} must return a torch.nn.Module and a dictionary of its preprocessing")
    return built[0], dict(built[1])
