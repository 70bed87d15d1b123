"""A new net for every two neighbouring phases: trained on phase k-1, then on phase k, from the run's initial weights.

min_theta CE(f_theta(x), y) on phase k-1, then on phase k, each with its own epochs and optimiser. Next to ``scratch`` it
separates the last phase's part in a history from the rest: what this net has in common with a learner of all phases was caused
by phase k-1. In the second phase it is plain fine-tuning with other random numbers. The passes over phase k-1 are preparatory:
they are not measured and do not count for the effective epoch; their learning rate falls at the fractions configured for phase k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from einstellung.learners.learner import Learner, Stage, learners
from einstellung.learners.planning import TRAIN, Workload
from einstellung.streams.stream import Phase

PREVIOUS = "previous"  # the stage on phase k-1


class PairWorkload(Workload):
    """A phase with another one before it costs a pass over each, per epoch of each."""

    def share(self, options: Any, sizes: Sequence[int], number: int, stage: str = TRAIN) -> float:
        return sizes[number - 1] / sizes[number] if stage == PREVIOUS else 1.0


@learners.register("scratch_pair")
class ScratchPair(Learner):
    """Trains a new net for every phase, first on the phase before."""

    workload: ClassVar[Workload] = PairWorkload()
    _stage = TRAIN

    @classmethod
    def shares_first_phase(cls, options: Any) -> bool:
        return True

    @classmethod
    def stages(cls, options: Any, sizes: Sequence[int], epochs: Sequence[int], number: int) -> tuple[Stage, ...]:
        """From the second phase on, the phase before comes first.

        >>> [stage.name for stage in ScratchPair.stages(None, [9, 9], [2, 2], 1)]
        ['previous', 'train']
        """
        train = Stage(TRAIN, float(epochs[number]))
        return (train,) if not number else (Stage(PREVIOUS, float(epochs[number - 1]), preparatory=True), train)

    def begin_phase(self, phase: Phase) -> None:
        self.reinitialise()
        self._stage = TRAIN
        super().begin_phase(phase)

    def begin_stage(self, phase: Phase, stage: Stage) -> None:
        self._stage = stage.name
        super().begin_phase(phase)  # an optimiser of its own

    def sources(self, phase: Phase) -> tuple[Phase, ...]:
        return self.context.earlier(phase)[-1:] if self._stage == PREVIOUS else (phase,)
