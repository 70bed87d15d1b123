"""timm models by name, with timm's data configuration; needs a working installation of timm."""

from __future__ import annotations

from typing import Any

from einstellung.classifiers.classifier import Classifier, state_digest
from einstellung.classifiers.preprocessing import preprocessing_from
from einstellung.errors import InputError
from einstellung.files import digest

_CROPS = {"center": False, "squash": True}  # timm's crop mode -> our setting ``squash``


def from_timm(name: str) -> Classifier:
    """The pretrained model that ``timm.create_model(name)`` builds, e.g. ``resnet50.a1_in1k``."""
    timm = _timm(name)
    try:
        net = timm.create_model(name, pretrained=True).eval()
    except (RuntimeError, ValueError, LookupError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"timm cannot create '{name}' with its weights ({reason}): see timm.list_pretrained()"
        ) from None
    config = timm.data.resolve_model_data_config(net)
    if (crop := config.get("crop_mode", "center")) not in _CROPS:
        raise InputError(f"timm:{name} uses crop mode '{crop}': only {' and '.join(_CROPS)} are supported")
    size = int(config["input_size"][-1])
    settings = {
        "size": size,
        "resize": int(size / config["crop_pct"]),
        "mean": config["mean"],
        "std": config["std"],
        "interpolation": config["interpolation"],
        "squash": _CROPS[crop],
    }
    # another version of timm may compute something else from the same weights
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
