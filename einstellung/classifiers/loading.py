"""Load classifiers by name: ``efficientnet-lite0`` (1, 2), ``timm:NAME``, ``file.py:function``."""

from __future__ import annotations

from einstellung.classifiers.classifier import Classifier, Extractor
from einstellung.classifiers.efficientnet_lite import SCALINGS
from einstellung.errors import InputError

KINDS = f"{', '.join(SCALINGS)}, timm:NAME or file.py:function"


def load_classifier(name: str) -> Classifier:
    """The classifier called ``name``, in evaluation mode.

    >>> load_classifier("mine.py:net")
    Traceback (most recent call last):
    einstellung.errors.InputError: mine.py is not a file: write --model file.py:function
    """
    if name in SCALINGS:
        from einstellung.classifiers.packaged import from_package

        return from_package(name)
    if name.startswith("timm:"):
        from einstellung.classifiers.from_timm import from_timm

        return from_timm(name.removeprefix("timm:"))
    if ".py:" in name:
        from einstellung.classifiers.user_net import from_user_file

        return from_user_file(name)
    raise InputError(f"there is no classifier '{name}': give {KINDS}")


def load_extractor(name: str) -> Extractor:
    """The classifier called ``name`` as a feature extractor; refused if its logits do not come from a last linear layer."""
    extractor = Extractor(load_classifier(name))
    extractor.check()
    return extractor
