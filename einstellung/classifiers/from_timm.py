"""A model of timm by its name, with timm's own data configuration; only where timm is installed and works."""

from __future__ import annotations

from typing import Any

from einstellung.classifiers.classifier import Classifier, state_digest
from einstellung.classifiers.preprocessing import preprocessing_from
from einstellung.errors import InputError
from einstellung.files import digest

_CROPS = {"center": False, "squash": True}  # timm's way of cropping -> whether pictures are squashed


def from_timm(name: str) -> Classifier:
    """``name`` as ``timm.create_model`` takes it, e.g. ``timm:resnet50.a1_in1k`` without the prefix."""
    timm = _timm(name)
    try:
        net = timm.create_model(name, pretrained=True).eval()
    except (RuntimeError, ValueError, LookupError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"timm cannot make '{name}' with its weights ({reason}): see timm.list_pretrained()") from None
    config = timm.data.resolve_model_data_config(net)
    if (crop := config.get("crop_mode", "center")) not in _CROPS:
        raise InputError(f"timm:{name} crops pictures by '{crop}': only {' and '.join(_CROPS)} are known here")
    size = int(config["input_size"][-1])
    settings = {
        "size": size,
        "resize": int(size / config["crop_pct"]),
        "mean": config["mean"],
        "std": config["std"],
        "interpolation": config["interpolation"],
        "squash": _CROPS[crop],
    }
    # the net's code is timm's: another version may compute something else from the same weights
    weights = digest([state_digest(net), "timm", str(timm.__version__)], length=64)
    return Classifier(f"timm:{name}", net, preprocessing_from(settings, name), int(net.num_classes), weights)


def _timm(name: str) -> Any:
    try:
        import timm  # type: ignore[import-not-found, unused-ignore]
        import timm.data  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise InputError(f"timm:{name} needs timm, which is not installed ({error}): pip install timm") from None
    except RuntimeError as error:  # a torchvision that does not fit torch
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"timm is installed but cannot be imported ({reason}): install a torchvision for this torch"
        ) from None
    return timm
