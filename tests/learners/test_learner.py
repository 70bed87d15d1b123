"""The contract of a learner: how short it is, and that sharing a first phase is declared and true."""

from __future__ import annotations

import inspect

import pytest
import torch
from torch import Tensor

from einstellung.learners import FineTuning, Learner, learner_options, learners
from einstellung.training import LoopSettings, PhaseLoop

# Options with which a built-in learner's first phase is plain fine-tuning.
SHARING = {
    "sgd": {},
    "naive": {},
    "erm": {},
    "scratch": {},
    "scratch_pair": {},
    "cumulative": {},
    "ewc": {},
    "ewc_on": {},
    "gpm": {},
    "dgr": {},
    "fromp": {"clip": None},
    "lwf": {},
    "agem": {},
    "er_ace": {"replay": "earlier"},
    "bgs": {"last_layer_epochs": 0},
    "er": {"replay": "earlier"},
    "der": {"replay": "earlier"},
    "derpp": {"replay": "earlier"},
    "er+erm": {},
    "derpp+erm": {},
    "erm-then-er": {},
    "ewc-then-derpp+sd": {},
}


def test_the_contract_has_at_most_a_dozen_methods():
    own = [
        name for name, value in vars(Learner).items() if inspect.isroutine(getattr(Learner, name)) and name[0] != "_"
    ]
    assert {"begin_phase", "observe", "end_phase", "state_dict", "load_state_dict"} <= set(own)
    assert 4 <= len(own) <= 12, own


@pytest.mark.parametrize("method", SHARING)
def test_a_shared_first_phase_is_the_learners_own_bit_for_bit(make, tasks, method):
    """Two epochs of the first phase, by the learner itself and by plain fine-tuning."""
    nets = []
    for name, options in ((method, SHARING[method]), ("sgd", {})):
        learner = make(name, phases=tasks, **options)
        assert learner.shares_first_phase(learner.options)
        (stage,) = learner.stages(learner.options, [36] * 3, [2, 2, 2], 0)
        learner.begin_phase(tasks[0])
        learner.begin_stage(tasks[0], stage)
        settings = LoopSettings(stage.passes, 8, lr=0.1)
        PhaseLoop(learner, tasks[0], settings, lambda *_: None, lambda *_: None, lambda *_: None).run()
        nets.append(learner.net.state_dict())
    own, plain = nets
    assert own.keys() == plain.keys()
    assert all(torch.equal(value, plain[name]) for name, value in own.items())


def test_every_built_in_learner_that_shares_is_tested_above():
    sharing = {name for name in learners if learners[name].shares_first_phase(learner_options(name, {}))}
    assert sharing <= SHARING.keys()
    assert {"er", "der", "derpp", "bgs", "er_ace", "si"}.isdisjoint(sharing)


class Doubled:
    """Not a learner itself, but it changes how one trains."""

    def objective(self, batch) -> Tensor:
        return 2 * super().objective(batch)


def test_sharing_is_declared_and_never_assumed():
    class Own(Learner):
        def observe(self, batch) -> Tensor:
            return self.step(2 * self.objective(batch))

    class Changed(FineTuning):
        def begin_phase(self, phase) -> None:
            super().begin_phase(phase)

    class Mixed(Doubled, FineTuning):
        pass

    class Unchanged(FineTuning):
        def end_phase(self, phase) -> None:
            self.seen = phase.name

    class Declared(Changed):
        @classmethod
        def shares_first_phase(cls, options) -> bool:
            return True

    class Below(Declared):
        pass

    kinds = (Learner, Own, Changed, Mixed, Unchanged, Declared, Below)
    sharing = [kind.shares_first_phase(None) for kind in kinds]
    assert sharing == [False, False, False, False, True, True, True]
