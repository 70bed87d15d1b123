"""Points as images [N, D, 1, 1]: one number that tells the class, though not well, and cues that nearly always go with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch

from einstellung.backbones import build_backbone
from einstellung.learners import Context, Learner, learners, make_learner
from einstellung.streams import EvaluationSplit, ImageSet, Phase, Presentation, Stream
from einstellung.training import LoopSettings, PhaseLoop

NAMES = ("left", "right")
TRUE, LOUD = 1.0, 0.6  # how far from zero the values are of what tells the class, and of a cue


@dataclass(frozen=True)
class Negated:
    """A cue is a column; its other value is the same number with the other sign."""

    cue: int

    def swapped(self, images: ImageSet, draws: torch.Generator) -> ImageSet:
        assert images.features is not None
        pixels = images.images.clone()
        pixels[:, 1 + self.cue] *= -1
        return replace(images, images=pixels, features=images.features ^ (1 << self.cue))


def some_points(counts: dict[tuple[int, int], int], seed: int = 0, cues: int = 1) -> ImageSet:
    """``counts``: of (label, features) how many."""
    draws = torch.Generator().manual_seed(seed)
    labels = torch.cat([torch.full((count,), label) for (label, _), count in counts.items()])
    features = torch.cat([torch.full((count,), value) for (_, value), count in counts.items()])
    columns = [TRUE * (2 * labels - 1) + 0.6 * torch.randn(len(labels), generator=draws)]
    for cue in range(cues):
        value = 2 * ((features >> cue) & 1) - 1
        columns.append(LOUD * value + 0.2 * torch.randn(len(labels), generator=draws))
    images = torch.stack(columns, dim=1).view(len(labels), -1, 1, 1)
    index = 1000 * seed + torch.arange(len(labels))
    return ImageSet(images, labels, index, torch.zeros(len(labels), dtype=torch.bool), features)


def one_cue(common: int = 95, uncommon: int = 5, seed: int = 0) -> ImageSet:
    return some_points({(0, 0): common, (0, 1): uncommon, (1, 0): uncommon, (1, 1): common}, seed)


def two_cues(common: int = 90, one: int = 9, none: int = 3, seed: int = 0) -> ImageSet:
    """Both cues common, one of them alone, none."""
    of_zero = {0: common, 1: one, 2: one, 3: none}
    counts = {(0, value): count for value, count in of_zero.items()}
    return some_points(counts | {(1, 3 - value): count for value, count in of_zero.items()}, seed, cues=2)


def stream_of(*sets: ImageSet, named: Sequence[tuple[str, ...]] | None = None) -> Stream:
    """A phase for each set; ``named``: the cues that go with the label in each."""
    cues = NAMES[: sets[0].images.shape[1] - 1]
    named = [cues] * len(sets) if named is None else named
    phases = tuple(
        Phase(f"T{n}", (0, 1), (), images, own) for n, (images, own) in enumerate(zip(sets, named, strict=True), 1)
    )
    counts = {(label, value): 50 for label in (0, 1) for value in range(1 << len(cues))}
    test = some_points(counts, seed=99, cues=len(cues))
    splits = tuple(EvaluationSplit(f"{phase.name}_val", phase.name, test, always=True) for phase in phases)
    return Stream(
        "points",
        phases,
        splits,
        (),
        None,
        None,
        2,
        ("negative", "positive"),
        (0.0,),
        (1 / 255,),
        crop_padding=0,
        flip=False,
        cue_names=cues,
        interventions={name: Negated(cue) for cue, name in enumerate(cues)},
    )


def made(name: str, stream: Stream, lr: float = 0.1, seed: int = 7, net: Any = None, **options: Any) -> Learner:
    """A learner with a linear net, or with one of one's own."""
    inputs = stream.phases[0].train.images.shape[1]

    def fresh() -> torch.nn.Module:
        return build_backbone("linear", {"inputs": inputs}, stream.n_outputs, seed)

    context = Context(
        seed=seed,
        presentation=Presentation(stream),
        autocast=nullcontext,
        make_optimiser=lambda parameters: torch.optim.SGD(parameters, lr=lr),
        device=torch.device("cpu"),
        phases=stream.phases,
        initial=lambda: fresh().state_dict(),
    )
    return make_learner(name, options, fresh() if net is None else net, context)


def learned(
    learner: Learner, method: str, epochs: int, size: int = 20, listener: Callable[..., Any] | None = None
) -> Learner:
    """All phases of the learner's stream, stage by stage; ``listener`` hears how many images of each phase a step took."""
    phases, sizes = learner.context.phases, [len(phase.train) for phase in learner.context.phases]
    for number, phase in enumerate(phases):
        learner.begin_phase(phase)
        before = consumed = 0
        for stage in learners[method].stages(learner.options, sizes, [epochs] * len(sizes), number):
            learner.begin_stage(phase, stage)
            lr = learner.optimiser.param_groups[0]["lr"]
            settings = LoopSettings(stage.passes, size, lr, before=before)
            loop = PhaseLoop(
                learner, phase, settings, lambda *_: None, lambda _: None, listener or (lambda _: None), consumed
            )
            loop.run()
            before, consumed = before + stage.epochs, loop.consumed
        learner.end_phase(phase)
    return learner


@torch.no_grad()
def group_accuracies(learner: Learner) -> dict[tuple[int, int], float]:
    """Of the balanced test, by (label, features)."""
    test = learner.context.presentation.stream.splits[-1].images
    assert test.features is not None
    learner.net.eval()
    right = learner.net(learner.context.presentation.normalised(test.images)).argmax(dim=1) == test.labels
    pairs = sorted(set(zip(test.labels.tolist(), test.features.tolist(), strict=True)))
    return {(y, v): float(right[(test.labels == y) & (test.features == v)].float().mean()) for y, v in pairs}


def worst(learner: Learner) -> float:
    return min(group_accuracies(learner).values())
