"""Classifiers by name: ``efficientnet-lite0`` (1, 2), ``timm:NAME``, ``file.py:function``."""

from __future__ import annotations

from einstellung.classifiers.classifier import Classifier, Extractor
from einstellung.classifiers.efficientnet_lite import SCALINGS
from einstellung.errors import InputError

KINDS = f"{', '.join(SCALINGS)}, timm:NAME or file.py:function"


def classifier(name: str) -> Classifier:
    """The classifier called ``name``, ready to be asked.

    >>> classifier("mine.py:net")
    Traceback (most recent call last):
    einstellung.errors.InputError: mine.py is no file: write --model file.py:function
    """
    if name in SCALINGS:
        from einstellung.classifiers.packaged import packaged

        return packaged(name)
    if name.startswith("timm:"):
        from einstellung.classifiers.from_timm import from_timm

        return from_timm(name.removeprefix("timm:"))
    if ".py:" in name:
        from einstellung.classifiers.own import own

        return own(name)
    raise InputError(f"there is no classifier '{name}': take {KINDS}")


def extractor(name: str) -> Extractor:
    """The same net without its last layer."""
    found = Extractor(classifier(name))
    found.check()  # a net without a last linear layer is refused here, before anything is computed
    return found
