"""The last linear layer of any net, and what goes into it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from einstellung.errors import InputError


def last_linear(net: nn.Module, name: str) -> nn.Linear:
    """The last :class:`torch.nn.Linear` in the order of the net's modules: its classifying layer.

    >>> last_linear(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), "a net").in_features
    3
    """
    layers = [module for module in net.modules() if isinstance(module, nn.Linear)]
    if not layers:
        raise InputError(f"{name} has no linear layer (torch.nn.Linear): its last layer cannot be found")
    return layers[-1]


@contextmanager
def listening(layer: nn.Linear) -> Iterator[list[Tensor]]:
    """Whatever is given to ``layer`` meanwhile, in order."""
    heard: list[Tensor] = []
    hook = layer.register_forward_pre_hook(lambda _, given: heard.append(given[0].detach()))
    try:
        yield heard
    finally:
        hook.remove()
