"""Backbones by name, with weights drawn from an address of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from einstellung.options import checked_options
from einstellung.randomness import seeded_globally
from einstellung.registry import Registry

backbones: Registry[Callable[..., nn.Module]] = Registry("backbone", group="einstellung.backbones")


def build_backbone(name: str, options: Mapping[str, Any], n_outputs: int, seed: int) -> nn.Module:
    """A fresh net; the same (name, options, seed) gives the same weights whatever was drawn before."""
    make = backbones[name]
    checked = checked_options(make, "backbone", options, taken=("n_outputs",))
    with seeded_globally(seed, "initialisation"):
        return make(n_outputs, **checked)
