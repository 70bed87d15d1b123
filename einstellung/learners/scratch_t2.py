"""The baseline of ERI: the same net, from random weights, on the last phase only."""

from __future__ import annotations

from typing import ClassVar

from einstellung.learners.learner import Learner, learners


@learners.register("scratch_t2")
class ScratchT2(Learner):
    """M_S: trained from random initialisation on T2, with the same head over all classes as every other method."""

    skips_history: ClassVar[bool] = True
