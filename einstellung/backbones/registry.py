"""Backbones by name, with weights drawn from an address of their own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from einstellung.errors import InputError
from einstellung.randomness import seeded_globally
from einstellung.registry import Registry, suggestion

backbones: Registry[Callable[..., nn.Module]] = Registry("backbone", group="einstellung.backbones")


def build_backbone(name: str, options: Mapping[str, Any], n_outputs: int, seed: int) -> nn.Module:
    """A fresh net; the same (name, options, seed) gives the same weights whatever was drawn before."""
    make = backbones[name]
    known = [key for key in inspect.signature(make).parameters if key != "n_outputs"]
    for key in options:
        if key not in known:
            raise InputError(f"unknown key 'backbone.{key}': {suggestion(key, known)}")
    with seeded_globally(seed, "initialisation"):
        return make(n_outputs, **options)
