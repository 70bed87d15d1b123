"""Every learner's step stays on its device, and nothing in an epoch waits for that device before the loss at its end."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from einstellung.backbones.vit import VisionTransformer
from einstellung.errors import InputError
from einstellung.learners import Batch, Context, Learner, Stage, learners, make_learner
from einstellung.learners.methods import learner_options
from einstellung.learners.mitigation.characters import find_font
from einstellung.streams import ImageSet, Presentation, Stream
from einstellung.streams.stream import TogglePlantedCue
from einstellung.training import Evaluator, LoopSettings, PhaseLoop
from einstellung.training.checkpoint import load_state, save_state
from tests.training.stand_in import META, OneDevice

SOME = torch.arange(24)
BATCH = 20
OPTIONS: dict[str, dict[str, Any]] = {
    "er": {"buffer": 20, "draw": 4},
    "der": {"buffer": 20, "draw": 4},
    "derpp": {"buffer": 20, "draw": 4},
    "er_ace": {"buffer": 20, "draw": 4},
    "lws": {"buffer": 40, "draw": 4, "clusters": 2},
    "xder": {"buffer": 40, "draw": 4, "views": 2, "consistency_draw": 4},
    "l2p": {"pool": 4, "top": 2},
    "coda_prompt": {"pool": 4, "layers": 1},
    "cbp": {"replacement": 0.1, "maturity": 0},
    "agem": {"buffer": 20, "draw": 4},
    "ewc_on": {"fisher_images": 20},
    "ewc": {"fisher_images": 20},
    "fromp": {"buffer": 8, "curvature_images": 4},
    "bgs": {"buffer": 20, "draw": 4, "last_layer_epochs": 2},
    "gdumb": {"buffer": 40},
    "gpm": {"samples": 16},
    "dgr": {"z": 4, "generator_epochs": 1},
    "eiil": {"ascent_steps": 5},
    "dfr": {"last_layer_epochs": 2},
}
TRANSFORMER = {"dim": 8, "depth": 1, "heads": 2, "patch": 4, "image": 12}
VARIANTS = [
    ("derpp", {"replay": "earlier"}),
    ("derpp", {"joined": True}),
    ("dgr", {"targets": "soft"}),
    ("lwf", {"warm_up": 1.0}),
    ("si", {"clip": 1.0}),
    ("coda_prompt", {"ortho": 0.1}),
    ("fromp", {"draw": 4}),
]

pytestmark = pytest.mark.filterwarnings("ignore:.*copying from a non-meta parameter:UserWarning")


class SmallNet(nn.Module):
    def __init__(self, n_outputs: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2)
        self.bn = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.bn(self.conv(x)).relu().mean(dim=(2, 3)))


def build(method: str, options: dict[str, Any], stream: Stream, device: torch.device) -> Learner:
    needs_transformer = method in ("l2p", "coda_prompt")
    net = VisionTransformer(stream.n_outputs, **TRANSFORMER) if needs_transformer else SmallNet(stream.n_outputs)
    start = copy.deepcopy(net.state_dict())
    context = Context(
        seed=0,
        presentation=Presentation(stream, device),
        autocast=nullcontext,
        make_optimiser=lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
        device=device,
        phases=stream.phases,
        initial=lambda: start,
    )
    return make_learner(method, OPTIONS.get(method, {}) | options, net.to(device), context)


def stages_of(method: str, options: dict[str, Any], phase: int) -> tuple[Stage, ...]:
    chosen = learner_options(method, OPTIONS.get(method, {}) | options)
    return learners[method].stages(chosen, [len(SOME)] * 2, [1, 1], phase)


def go_through(learner: Learner, stream: Stream, phase: int, stages: Sequence[Stage]) -> None:
    """A step of every stage."""
    learner.begin_phase(stream.phases[phase])
    raw = stream.phases[phase].train.take(SOME)
    for number, stage in enumerate(stages, start=1):
        learner.begin_stage(stream.phases[phase], stage)
        learner.begin_epoch(stream.phases[phase], number)
        learner.observe(Batch(learner.context.presentation.unaugmented(raw), raw.labels, raw))


def saved_in_the_second_phase(
    method: str, options: dict[str, Any], stream: Stream, stages: Sequence[Stage]
) -> dict[str, Any]:
    learner = build(method, options, stream, torch.device("cpu"))
    go_through(learner, stream, 0, stages_of(method, options, 0))
    learner.end_phase(stream.phases[0])
    go_through(learner, stream, 1, stages)
    optimiser = learner.optimiser.state_dict()["state"]
    return {"learner": learner.state_dict(), "optimiser": {str(key): value for key, value in optimiser.items()}}


def resumed_on_the_device(
    method: str, options: dict[str, Any], stream: Stream, stage: Stage, state: dict[str, Any]
) -> Learner:
    learner = build(method, options, stream, META)
    learner.load_state_dict(state["learner"])
    learner.begin_phase(stream.phases[1])
    learner.begin_stage(stream.phases[1], stage)
    learner.load_state_dict(state["learner"])
    fresh = learner.optimiser.state_dict()
    fresh["state"] = {int(key): value for key, value in state["optimiser"].items()}
    learner.optimiser.load_state_dict(fresh)
    return learner


CASES = [
    pytest.param(method, options, stage, id=f"{method}-{stage}{'-'.join(['', *map(str, options.values())])}")
    for method, options in [*((name, {}) for name in learners.names()), *VARIANTS]
    for stage in range(len(stages_of(method, options, 1)))
]


@pytest.fixture
def whole_stream(stream) -> Stream:
    """A stream that lacks nothing that a method may need."""

    def boxes(images: ImageSet) -> Tensor:
        return torch.tensor([2, 2, 8, 8]).expand(len(images), 4)

    others = {name: TogglePlantedCue() for name in ("background", "texture")}
    return replace(stream, interventions={**stream.interventions, **others}, target_boxes=boxes)


@pytest.mark.parametrize(("method", "options", "stage"), CASES)
def test_an_epoch_asks_its_device_for_nothing_but_the_last_loss(
    tmp_path, whole_stream, one_device, method, options, stage
):
    """In a second phase, with what the method keeps of the first one and an optimiser under way, both from a checkpoint."""
    if method == "wtm_aug":
        font_or_skip()
    stages = stages_of(method, options, 1)[: stage + 1]
    path = save_state(tmp_path / "state.safetensors", saved_in_the_second_phase(method, options, whole_stream, stages))
    learner = resumed_on_the_device(method, options, whole_stream, stages[-1], load_state(path))
    assert all(value["momentum_buffer"].device == META for value in learner.optimiser.state.values())
    assert {torch.uint8, torch.int64} <= set(sent_in_an_epoch(learner, whole_stream, before=stage))


def font_or_skip() -> None:
    try:
        find_font("wtm_aug", None)
    except InputError as error:
        pytest.skip(str(error))


def sent_in_an_epoch(learner: Learner, stream: Stream, before: int) -> list[torch.dtype]:
    """The types of what was copied to the device in an epoch of the second phase, which asks for the last loss alone."""
    steps: list[dict[str, int]] = []
    settings = LoopSettings(1, BATCH, 0.05, before=before)
    loop = PhaseLoop(learner, stream.phases[1], settings, _silent, _silent, steps.append)
    with (
        OneDevice() as watched,
        pytest.raises(RuntimeError, match="cannot be called on meta tensors") as first_number,
    ):
        loop.run()
    asked = next(entry for entry in reversed(first_number.traceback) if entry.path.parent.parent.name == "einstellung")
    assert "require_finite(float(loss)" in str(asked.statement)
    assert len(steps) == len(loop._batches(1 + before)) > 1  # every batch had been prepared and handed over by then
    return watched.sent


def test_a_learner_that_waits_is_found(stream, one_device):
    """What the stand-in device refuses, so that the test above can fail."""

    def epoch(observe: Any) -> None:
        learner = build("sgd", {}, stream, META)
        learner.observe = lambda batch: observe(learner, batch)
        learner.begin_phase(stream.phases[1])
        loop = PhaseLoop(learner, stream.phases[1], LoopSettings(1, BATCH, 0.05), _silent, _silent, _silent)
        with OneDevice():
            loop.run()

    def plain(learner: Learner, batch: Batch) -> Tensor:
        return learner.step(learner.cross_entropy(batch.inputs, batch.labels))

    def waits_for_a_copy(learner: Learner, batch: Batch) -> Tensor:
        return learner.step(learner.cross_entropy(batch.inputs, batch.raw.labels.to(META)))

    def mixes(learner: Learner, batch: Batch) -> Tensor:
        return learner.step(learner.cross_entropy(batch.inputs, batch.raw.labels))

    def looks(learner: Learner, batch: Batch) -> Tensor:
        assert bool((batch.labels >= 0).all())
        return plain(learner, batch)

    def fetches(learner: Learner, batch: Batch) -> Tensor:
        learner.last = plain(learner, batch).cpu()
        return learner.last

    refused = {
        waits_for_a_copy: "use to_device",
        mixes: "on tensors of",
        looks: "meta",
        fetches: "Cannot copy out of meta",
    }
    for observe, words in refused.items():
        with pytest.raises((AssertionError, RuntimeError, NotImplementedError), match=words) as error:
            epoch(observe)
        assert any(entry.name == observe.__name__ for entry in error.traceback)
    with pytest.raises(RuntimeError, match="cannot be called on meta tensors") as error:
        epoch(plain)
    assert not any(entry.name == "plain" for entry in error.traceback)


def test_all_splits_come_back_in_one_copy(stream, one_device, monkeypatch):
    net = SmallNet(stream.n_outputs).to(META)
    fetched: list[torch.Size] = []

    def fetch(logits: Tensor) -> Tensor:
        fetched.append(logits.shape)
        return torch.zeros(logits.shape)

    monkeypatch.setattr(Tensor, "cpu", fetch)
    evaluator = Evaluator(stream, Presentation(stream, META), nullcontext, batch_size=7)
    with OneDevice() as watched:
        measured = evaluator.measure(net, [split.name for split in stream.splits])
    images = sum(len(split.images) for split in stream.splits)
    assert fetched == [(images, stream.n_outputs)]
    assert [one.n for one in measured] == [len(split.images) for split in stream.splits]
    assert set(watched.sent) == {torch.uint8}  # what goes over are bytes, not floats


def _silent(*_: object) -> None:
    return None
