"""Evaluation without side effects: the modes of all modules and the states of all generators are restored."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn


@contextmanager
def evaluation_mode(model: Callable[..., Any], sources: Iterable[Any] = ()) -> Iterator[None]:
    """Evaluation mode without gradients; module modes and random states are restored afterwards."""
    module = module_of(model)
    modes = [] if module is None else [(one, one.training) for one in module.modules()]
    restores = _random_states(sources)
    if module is not None:
        module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        if module is not None:
            module.train(modes[0][1])  # its own method first: it may undo what its eval() did
        for one, training in modes:
            one.training = training
        for restore in restores:
            restore()


def module_of(model: Callable[..., Any]) -> nn.Module | None:
    """The module behind a model: itself, or the owner of a bound method; None for any other callable."""
    owner = getattr(model, "__self__", model)  # a bound method such as net.forward_features
    return owner if isinstance(owner, nn.Module) else None


def device_of(model: Callable[..., Any]) -> torch.device | None:
    """The device of the model's weights; None where it has none."""
    module = module_of(model)
    first = None if module is None else next(module.parameters(), None)
    return None if first is None else first.device


def _random_states(sources: Iterable[Any]) -> list[Callable[[], object]]:
    """Functions that restore every generator that a model or a data loader may draw from."""
    cpu, numpy_state, python_state = torch.get_rng_state(), np.random.get_state(), random.getstate()
    found: list[Callable[[], object]] = [
        lambda: torch.set_rng_state(cpu),
        lambda: np.random.set_state(numpy_state),
        lambda: random.setstate(python_state),
    ]
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        cuda = torch.cuda.get_rng_state_all()
        found.append(lambda: torch.cuda.set_rng_state_all(cuda))
    if torch.backends.mps.is_available():
        mps = torch.mps.get_rng_state()
        found.append(lambda: torch.mps.set_rng_state(mps))
    for source in sources:
        for owner in (source, getattr(source, "sampler", None)):
            own = getattr(owner, "generator", None)
            if isinstance(own, torch.Generator):
                found.append(partial(own.set_state, own.get_state()))
    return found
