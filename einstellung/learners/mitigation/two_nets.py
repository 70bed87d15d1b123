"""A second net, trained in parallel, that finds the shortcut while a phase is learned."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from einstellung.learners.learner import Learner
from einstellung.streams.stream import Phase


class TwoNets(Learner):
    """A learner with a second net of the same architecture, which starts every phase with the initial weights of the run.

    One optimiser holds the parameters of both: it updates each by its own gradient, skips parameters without one, and follows the
    study's schedule. So a step is that of two optimisers, and a resumed run restores both states.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.second = copy.deepcopy(self.net)

    def begin_phase(self, phase: Phase) -> None:
        assert self.context.initial is not None, "the run has no initial weights"
        self.second.load_state_dict(self.context.initial())
        self.optimiser = self.context.make_optimiser([*self.net.parameters(), *self.second.parameters()])

    def training_mode(self) -> None:
        self.net.train()
        self.second.train()

    def state_dict(self) -> dict[str, Any]:
        return {"second": self.second.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.second.load_state_dict(state["second"])
