"""Continual backpropagation (Dohare et al., 2024): plain fine-tuning in which the least useful units start anew.

Of hidden unit i with output h_i, after every step: u_i <- eta u_i + (1 - eta) mean |h_i| sum_k |w_ik|, over the batch (and
pixels or tokens) and the weights w_ik that leave it; its age a_i grows by 1. Mature units, a_i > ``maturity``, add
``replacement`` times their number to a layer's account; for every whole one in it, the mature unit with the smallest
u_i / (1 - eta^a_i) gets new weights into it, drawn from U(-b, b) with b = sqrt(6 / fan-in), bias 0, and weights 0 out of it;
u_i and a_i start again at 0. Its batch norm and its entries in the optimiser's state are reset.

Differs from the authors' code in which units take part: those that reach the result through one other layer alone
(:mod:`einstellung.learners.hidden_units`), so of a ResNet the first layer of every block, and of a transformer the hidden
layers of its perceptrons; of a text, padding takes part in the mean as any token. Embeddings are no units. Their ResNet code
has all convolutions, each with the next one in the list as the consumer, counts all units for the account, and leaves the
optimiser's momentum as it is. Their correction of the consumer's bias, for perceptrons only, is not part of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from einstellung.errors import InputError
from einstellung.learners.hidden_units import HiddenUnits, Layer, channels_last, hidden_units
from einstellung.learners.learner import Batch, Learner, learners, option
from einstellung.learners.planning import Workload
from einstellung.modalities.transfer import to_device
from einstellung.randomness import generator
from einstellung.streams.stream import Phase


@dataclass(frozen=True)
class CBPOptions:
    replacement: float = option(1e-5, "Dohare et al. (2024), class-incremental CIFAR-100: replacement rate")
    maturity: int = option(1000, "Dohare et al. (2024), class-incremental CIFAR-100: maturity threshold, in steps")
    decay: float = option(0.99, "Dohare et al. (2024): eta")

    def __post_init__(self) -> None:
        for key, right in (
            ("replacement", 0 <= self.replacement <= 1),
            ("decay", 0 <= self.decay < 1),
        ):
            if not right:
                bound = "at most 1" if key == "replacement" else "below 1"
                raise InputError(f"learners.cbp.{key} is {getattr(self, key)}: it must be at least 0 and {bound}")
        if self.maturity < 0:
            raise InputError(f"learners.cbp.maturity is {self.maturity}: it must be at least 0")


@learners.register("cbp")
class ContinualBackpropagation(Learner):
    """Fine-tuning that replaces a small share of the least useful hidden units all the time, to stay able to learn."""

    Options: ClassVar[type] = CBPOptions
    workload: ClassVar[Workload] = Workload(step_cost=1.1)  # utilities in every step

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        context = self.context
        assert context.initial is not None, "the run has no initial weights"
        shown = context.phases[0].train
        one = context.presentation.unaugmented(shown.take(torch.arange(1)))
        tokens = None if one.is_floating_point() else int(shown.images.max()) + 1
        found = hidden_units(self.net, context.initial(), tuple(one.shape[1:]), tokens)
        if not found:
            raise InputError("cbp replaces hidden units with one layer after them, but this net has none")
        self.layers = {one.producer: Units.of(self.net, one) for one in found}

    def begin_epoch(self, phase: Phase, epoch: int) -> None:
        self._draws = generator(self.context.seed, "cbp", phase.name, epoch)

    def observe(self, batch: Batch) -> Tensor:
        with self._watched():
            loss = self.objective(batch)
        loss = self.step(loss)
        self._generate_and_test()
        return loss

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Keep what every consumer is given, the mean size of its inputs by unit."""
        handles = [units.consumer.register_forward_pre_hook(units.look) for units in self.layers.values()]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    @torch.no_grad()
    def _generate_and_test(self) -> None:
        assert self.optimiser is not None
        for units in self.layers.values():
            units.age += 1
            units.update_utility(self.options.decay)
            most = int(self.options.replacement * len(units.age)) + 1  # an account never holds more whole ones
            bound = math.sqrt(6 / units.producer.weight[0].numel())
            fresh = torch.rand(most, *units.producer.weight.shape[1:], generator=self._draws) * 2 * bound - bound
            places, chosen = units.least_useful(most, self.options)
            units.replace(places, chosen, to_device(fresh, places.device), self.optimiser)

    def state_dict(self) -> dict[str, Any]:
        return {
            name: {"utility": units.utility, "age": units.age, "account": units.account}
            for name, units in self.layers.items()
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for name, units in self.layers.items():
            for key in ("utility", "age", "account"):
                getattr(units, key).copy_(state[name][key])


class Units:
    """The hidden units of one layer: their utility, their age in steps, and the account of units to replace.

    Which units are replaced is decided on the device; the host never waits for it.
    """

    def __init__(self, producer: nn.Module, norm: nn.Module | None, consumer: nn.Module) -> None:
        assert isinstance(producer, Layer)
        assert isinstance(consumer, Layer)
        self.producer, self.norm, self.consumer = producer, norm, consumer
        self.utility = torch.zeros(len(producer.weight), device=producer.weight.device)
        self.age = torch.zeros_like(self.utility)
        self.account = torch.zeros((), device=producer.weight.device)
        self._size = self.utility

    @classmethod
    def of(cls, net: nn.Module, names: HiddenUnits) -> Units:
        norm = None if names.norm is None else net.get_submodule(names.norm)
        return cls(net.get_submodule(names.producer), norm, net.get_submodule(names.consumer))

    def look(self, _: nn.Module, given: tuple[Tensor, ...]) -> None:
        """Remember the mean absolute output of every unit."""
        self._size = channels_last(self.consumer, given[0].detach()).float().abs().mean(dim=0)

    def update_utility(self, decay: float) -> None:
        leaving = self.consumer.weight.abs().transpose(0, 1).flatten(1).sum(dim=1)
        self.utility.mul_(decay).add_(self._size * leaving, alpha=1 - decay)

    def least_useful(self, most: int, options: CBPOptions) -> tuple[Tensor, Tensor]:
        """The ``most`` mature units of the smallest utility, and which of them are to be replaced now."""
        mature = self.age > options.maturity
        self.account += options.replacement * mature.sum()
        corrected = self.utility / (1 - options.decay**self.age)
        places = corrected.masked_fill(~mature, torch.inf).topk(most, largest=False).indices
        # rates such as 1e-5 add up to whole numbers only but for rounding
        count = torch.minimum((self.account + 1e-6).floor(), mature.sum())
        self.account -= count
        return places, torch.arange(most, device=places.device) < count

    def replace(self, places: Tensor, chosen: Tensor, fresh: Tensor, optimiser: torch.optim.Optimizer) -> None:
        """New weights into the chosen ones of these units, none out of them."""
        _put(self.producer.weight, 0, places, chosen, fresh)
        _put(self.consumer.weight, 1, places, chosen, 0.0)
        reset = [(self.producer.weight, 0), (self.consumer.weight, 1)]
        if self.producer.bias is not None:
            _put(self.producer.bias, 0, places, chosen, 0.0)
            reset.append((self.producer.bias, 0))
        if self.norm is not None:
            for name, start in (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)):
                if (values := getattr(self.norm, name)) is not None:
                    _put(values, 0, places, chosen, start)
            reset += [(parameter, 0) for parameter in self.norm.parameters()]
        for parameter, dim in reset:
            for value in optimiser.state.get(parameter, {}).values():
                if isinstance(value, Tensor) and value.shape == parameter.shape:
                    _put(value, dim, places, chosen, 0.0)
        for values in (self.utility, self.age):
            _put(values, 0, places, chosen, 0.0)


def _put(values: Tensor, dim: int, places: Tensor, chosen: Tensor, new: Tensor | float) -> None:
    """Write ``new`` to those of the places that are chosen."""
    now = values.index_select(dim, places)
    mask = chosen.view(-1, *[1] * (values.dim() - 1 - dim))
    fresh = new if isinstance(new, Tensor) else torch.full_like(now, new)
    values.index_copy_(dim, places, torch.where(mask, fresh, now))
