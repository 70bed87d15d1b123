"""The baseline of ERI: the same net, from random weights, on the last phase only."""

from __future__ import annotations

from typing import ClassVar

from einstellung.learners.learner import Learner, learners


@learners.register("scratch_t2")
class ScratchT2(Learner):
    """The baseline M_S: trained on T2 from random initialisation, with the same head over all classes as every other method."""

    skips_history: ClassVar[bool] = True
