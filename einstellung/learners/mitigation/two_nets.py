"""A second net beside the one that is learned: one that finds out what the shortcut is while a phase is learned."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from einstellung.learners.learner import Learner
from einstellung.streams.stream import Phase


class TwoNets(Learner):
    """A learner with a second net of the same architecture, which begins every phase with the weights of the run's beginning.

    One optimiser holds the parameters of both: it moves each by its own gradient, leaves alone what a loss did not reach, and
    follows the one schedule of the study. So a step is that of two optimisers, and a stopped run finds both states again.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.second = copy.deepcopy(self.net)

    def begin_phase(self, phase: Phase) -> None:
        assert self.context.initial is not None, "a run without initial weights"
        self.second.load_state_dict(self.context.initial())
        self.optimiser = self.context.make_optimiser([*self.net.parameters(), *self.second.parameters()])

    def training_mode(self) -> None:
        self.net.train()
        self.second.train()

    def state_dict(self) -> dict[str, Any]:
        return {"second": self.second.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.second.load_state_dict(state["second"])
