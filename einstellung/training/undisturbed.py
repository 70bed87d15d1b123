"""A model looked at and left exactly as it was: every module's mode, every generator."""

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
def undisturbed(model: Callable[..., Any], sources: Iterable[Any] = ()) -> Iterator[None]:
    """Evaluation mode without gradients; afterwards every module's mode and every generator is as it was."""
    module = module_of(model)
    modes = [] if module is None else [(one, one.training) for one in module.modules()]
    put_back = _random_states(sources)
    if module is not None:
        module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        if module is not None:
            module.train(modes[0][1])  # by its own method first: a module may undo there what its eval() did
        for one, training in modes:
            one.training = training
        for restore in put_back:
            restore()


def module_of(model: Callable[..., Any]) -> nn.Module | None:
    """The module that a model is, or that it is a bound method of; None for any other callable."""
    owner = getattr(model, "__self__", model)  # a bound method such as net.forward_features
    return owner if isinstance(owner, nn.Module) else None


def device_of(model: Callable[..., Any]) -> torch.device | None:
    """Where the model's weights are; None where it has none, and inputs are then handed over as they come."""
    module = module_of(model)
    first = None if module is None else next(module.parameters(), None)
    return None if first is None else first.device


def _random_states(sources: Iterable[Any]) -> list[Callable[[], object]]:
    """How to put back every generator that a model or a data loader may draw from."""
    cpu, numpy_state, python_state = torch.get_rng_state(), np.random.get_state(), random.getstate()
    restore: list[Callable[[], object]] = [
        lambda: torch.set_rng_state(cpu),
        lambda: np.random.set_state(numpy_state),
        lambda: random.setstate(python_state),
    ]
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        cuda = torch.cuda.get_rng_state_all()
        restore.append(lambda: torch.cuda.set_rng_state_all(cuda))
    if torch.backends.mps.is_available():
        mps = torch.mps.get_rng_state()
        restore.append(lambda: torch.mps.set_rng_state(mps))
    for source in sources:
        for owner in (source, getattr(source, "sampler", None)):
            own = getattr(owner, "generator", None)
            if isinstance(own, torch.Generator):
                restore.append(partial(own.set_state, own.get_state()))
    return restore
