"""Build backbones by name, with weights determined by the seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from einstellung.options import checked_options
from einstellung.randomness import seeded_globally
from einstellung.registry import Registry

backbones: Registry[Callable[..., nn.Module]] = Registry("backbone", group="einstellung.backbones")


def build_backbone(name: str, options: Mapping[str, Any], n_outputs: int, seed: int) -> nn.Module:
    """A newly initialised net; its weights depend only on (name, options, seed)."""
    checked = backbone_options(name, options)
    with seeded_globally(seed, "initialisation"):
        return backbones[name](n_outputs, **checked)


def backbone_options(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All options of a backbone; an error names a wrong key or value."""
    return checked_options(backbones[name], "backbone", given, taken=("n_outputs",))
