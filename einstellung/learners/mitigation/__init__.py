"""Shortcut mitigation methods: one short file each, stating what the method needs to know about the shortcut."""

from einstellung.learners.mitigation.augmix import AugMix
from einstellung.learners.mitigation.bg_aug import BackgroundAugmentation
from einstellung.learners.mitigation.cff_aug import CounterfactualAndFactual
from einstellung.learners.mitigation.cutmix import CutMix
from einstellung.learners.mitigation.cutout import Cutout
from einstellung.learners.mitigation.debian import DebiasingAlternateNetworks
from einstellung.learners.mitigation.dfr import DeepFeatureReweighting
from einstellung.learners.mitigation.di import DomainIndependent
from einstellung.learners.mitigation.eiil import EnvironmentInference
from einstellung.learners.mitigation.erm import EmpiricalRiskMinimisation
from einstellung.learners.mitigation.gdro import GroupDRO
from einstellung.learners.mitigation.jtt import JustTrainTwice
from einstellung.learners.mitigation.lff import LearningFromFailure
from einstellung.learners.mitigation.lle import LastLayerEnsemble
from einstellung.learners.mitigation.mixup import Mixup
from einstellung.learners.mitigation.sd import SpectralDecoupling
from einstellung.learners.mitigation.subg import SubsampledGroups
from einstellung.learners.mitigation.txt_aug import TextureAugmentation
from einstellung.learners.mitigation.wtm_aug import WatermarkAugmentation

__all__ = [
    "AugMix",
    "BackgroundAugmentation",
    "CounterfactualAndFactual",
    "CutMix",
    "Cutout",
    "DebiasingAlternateNetworks",
    "DeepFeatureReweighting",
    "DomainIndependent",
    "EmpiricalRiskMinimisation",
    "EnvironmentInference",
    "GroupDRO",
    "JustTrainTwice",
    "LastLayerEnsemble",
    "LearningFromFailure",
    "Mixup",
    "SpectralDecoupling",
    "SubsampledGroups",
    "TextureAugmentation",
    "WatermarkAugmentation",
]
