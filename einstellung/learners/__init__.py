"""How a phase is learned: one short file per method."""

from einstellung.learners.cumulative import Cumulative
from einstellung.learners.der import DarkExperienceReplay
from einstellung.learners.derpp import DarkExperienceReplayPlusPlus
from einstellung.learners.dgr import DeepGenerativeReplay
from einstellung.learners.er import ExperienceReplay
from einstellung.learners.ewc_on import OnlineEWC
from einstellung.learners.gpm import GradientProjectionMemory
from einstellung.learners.interleaved import Interleaved
from einstellung.learners.joint import Joint
from einstellung.learners.learner import Batch, Context, Learner, learners, make_learner
from einstellung.learners.scratch_t2 import ScratchT2
from einstellung.learners.sgd import FineTuning

__all__ = [
    "Batch",
    "Context",
    "Cumulative",
    "DarkExperienceReplay",
    "DarkExperienceReplayPlusPlus",
    "DeepGenerativeReplay",
    "ExperienceReplay",
    "FineTuning",
    "GradientProjectionMemory",
    "Interleaved",
    "Joint",
    "Learner",
    "OnlineEWC",
    "ScratchT2",
    "learners",
    "make_learner",
]
