"""How a phase is learned: one short file per method."""

from einstellung.learners import mitigation
from einstellung.learners.agem import AveragedGEM
from einstellung.learners.bgs import BalancedGreedySampling
from einstellung.learners.cbp import ContinualBackpropagation
from einstellung.learners.coda_prompt import CODAPrompt
from einstellung.learners.combined import InTurn, Joined
from einstellung.learners.cumulative import Cumulative
from einstellung.learners.der import DarkExperienceReplay
from einstellung.learners.derpp import DarkExperienceReplayPlusPlus
from einstellung.learners.dgr import DeepGenerativeReplay
from einstellung.learners.er import ExperienceReplay
from einstellung.learners.er_ace import AsymmetricReplay
from einstellung.learners.ewc import ElasticWeightConsolidation
from einstellung.learners.ewc_on import OnlineEWC
from einstellung.learners.fromp import FunctionalRegularisation
from einstellung.learners.gdumb import GDumb
from einstellung.learners.gpm import GradientProjectionMemory
from einstellung.learners.interleaved import Interleaved
from einstellung.learners.joint import Joint
from einstellung.learners.l2p import LearningToPrompt
from einstellung.learners.learner import Batch, Context, Learner, Stage, learners
from einstellung.learners.lwf import LearningWithoutForgetting
from einstellung.learners.lws import LearningWithoutShortcuts
from einstellung.learners.methods import Composition, Methods, learner_options, make_learner
from einstellung.learners.naive import Naive
from einstellung.learners.planning import Workload
from einstellung.learners.scratch import Scratch
from einstellung.learners.scratch_pair import ScratchPair
from einstellung.learners.scratch_t2 import ScratchT2
from einstellung.learners.sgd import FineTuning
from einstellung.learners.si import SynapticIntelligence
from einstellung.learners.xder import ExtendedDER

__all__ = [
    "AsymmetricReplay",
    "AveragedGEM",
    "BalancedGreedySampling",
    "Batch",
    "CODAPrompt",
    "Composition",
    "Context",
    "ContinualBackpropagation",
    "Cumulative",
    "DarkExperienceReplay",
    "DarkExperienceReplayPlusPlus",
    "DeepGenerativeReplay",
    "ElasticWeightConsolidation",
    "ExperienceReplay",
    "ExtendedDER",
    "FineTuning",
    "FunctionalRegularisation",
    "GDumb",
    "GradientProjectionMemory",
    "InTurn",
    "Interleaved",
    "Joined",
    "Joint",
    "Learner",
    "LearningToPrompt",
    "LearningWithoutForgetting",
    "LearningWithoutShortcuts",
    "Methods",
    "Naive",
    "OnlineEWC",
    "Scratch",
    "ScratchPair",
    "ScratchT2",
    "Stage",
    "SynapticIntelligence",
    "Workload",
    "learner_options",
    "learners",
    "make_learner",
    "mitigation",
]
