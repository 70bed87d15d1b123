"""How a phase is learned: one short file per method."""

from einstellung.learners.derpp import DarkExperienceReplayPlusPlus
from einstellung.learners.ewc_on import OnlineEWC
from einstellung.learners.learner import Batch, Context, Learner, learners, make_learner
from einstellung.learners.scratch_t2 import ScratchT2
from einstellung.learners.sgd import FineTuning

__all__ = [
    "Batch",
    "Context",
    "DarkExperienceReplayPlusPlus",
    "FineTuning",
    "Learner",
    "OnlineEWC",
    "ScratchT2",
    "learners",
    "make_learner",
]
