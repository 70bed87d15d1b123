"""Deep feature reweighting, DFR (Kirichenko, Izmailov and Wilson, 2023): plain training, then a new last layer.

Stage ``train``: mean CE(f(x), y), as in plain training. Stage ``last-layer``: a last layer that begins with zeros is trained
on a subset of the phase's images in which all groups (class x values of the known cues) have one size, for
``last_layer_epochs`` passes; nothing else of the net moves. Its loss is mean CE + l1 |W|_1.

Needs: image-level labels (``cues``: of which shortcuts; null: of all). As in Whac-A-Mole's code, which follows the variant
DFR-Tr, the subset comes from the training images, with the usual augmentation, and the study's optimiser trains the last layer.
The original solves a logistic regression with an L1 penalty to the end, tunes the penalty on validation images and takes the mean
over several subsets. Differs from both in that the features are those after the last epoch, not those of the best one, and that
the passes for the last layer are one epoch of the loop, measured once at its end; plain training before it is not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.learners.last_layer import RetrainsLastLayer
from einstellung.learners.learner import Batch, Stage, learners, option
from einstellung.learners.mitigation.groups import SUBSET_SHARE, GroupLearner, GroupOptions
from einstellung.learners.planning import TRAIN, Workload
from einstellung.streams.stream import Phase

LAST_LAYER = "last-layer"


@dataclass(frozen=True)
class DFROptions(GroupOptions):
    method: ClassVar[str] = "dfr"
    last_layer_epochs: int = option(100, "ours: enough to converge; the Whac-A-Mole authors' script: 1")
    l1: float = option(0.0, "the Whac-A-Mole authors' code; Kirichenko et al. tune it")

    def __post_init__(self) -> None:
        super().__post_init__()
        for key, least in (("last_layer_epochs", 1), ("l1", 0)):
            if not getattr(self, key) >= least:
                raise InputError(f"learners.dfr.{key} is {getattr(self, key)}: it must be at least {least}")


@dataclass(frozen=True)
class DFRWorkload(Workload):
    """Plain training, then passes of the last layer over the subset."""

    def share(self, options: DFROptions, sizes: Sequence[int], number: int, stage: str = TRAIN) -> float:
        return options.last_layer_epochs * SUBSET_SHARE if stage == LAST_LAYER else 1.0


@learners.register("dfr")
class DeepFeatureReweighting(RetrainsLastLayer, GroupLearner):
    """Plain training, then a new last layer on a subset in which the known cues are independent of the class."""

    Options: ClassVar[type] = DFROptions
    method: ClassVar[str] = "dfr"
    retraining: ClassVar[str] = LAST_LAYER
    workload: ClassVar[Workload] = DFRWorkload()

    @classmethod
    def stages(cls, options: DFROptions, sizes: Sequence[int], epochs: Sequence[int], number: int) -> tuple[Stage, ...]:
        return (Stage(TRAIN, float(epochs[number]), preparatory=True), Stage(LAST_LAYER, 1.0))

    def begin_stage(self, phase: Phase, stage: Stage) -> None:
        super().begin_stage(phase, stage)
        if stage.name == LAST_LAYER:
            with torch.no_grad():
                for parameter in self._layer:
                    parameter.zero_()

    def rows_to_retrain_on(self, phase: Phase) -> Tensor:
        return self.subset_of(phase)

    def last_layer_loss(self, batch: Batch) -> Tensor:
        penalty: Tensor = self.options.l1 * self._layer[0].abs().sum()
        return super().last_layer_loss(batch) + penalty
