"""A user's own net: ``file.py:function``. The file is the user's own code, and it is run.

The function takes nothing and returns the net (a ``torch.nn.Module``) and its preprocessing, a dictionary of ``size``,
``mean``, ``std`` and, where wanted, ``resize``, ``interpolation`` and ``weights``: a safetensors file or a state_dict, beside
the file. Weights are never unpickled in a way that could run code::

    def mine():
        return Net(), {"size": 224, "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "weights": "mine.pt"}
"""

from __future__ import annotations

import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from einstellung.classifiers.classifier import Classifier, state_digest
from einstellung.classifiers.last_layer import last_linear
from einstellung.classifiers.preprocessing import preprocessing_from
from einstellung.classifiers.weights_file import fill
from einstellung.errors import InputError


def own(name: str) -> Classifier:
    """The classifier that the function of ``file.py:function`` builds."""
    path, _, function = name.rpartition(":")
    net, settings = _built(Path(path).expanduser(), function, name)
    if "weights" in settings:
        fill(net, Path(path).expanduser().parent / str(settings.pop("weights")), name)
    preprocessing = preprocessing_from(settings, name)
    return Classifier(name, net.eval(), preprocessing, last_linear(net, name).out_features, state_digest(net))


def _built(file: Path, function: str, name: str) -> tuple[nn.Module, dict[str, Any]]:
    if not file.is_file():
        raise InputError(f"{file} is no file: write --model file.py:function")
    build = runpy.run_path(str(file)).get(function)
    if not callable(build):
        raise InputError(f"{file} has no function '{function}': write --model file.py:function")
    built = build()
    if (
        not isinstance(built, tuple)
        or len(built) != 2
        or not isinstance(built[0], nn.Module)
        or not isinstance(built[1], Mapping)
    ):
        raise InputError(f"{name} must return a torch.nn.Module and a dictionary of its preprocessing")
    return built[0], dict(built[1])
