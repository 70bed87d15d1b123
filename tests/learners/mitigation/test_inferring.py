"""LfF, JTT, EIIL and DebiAN on a problem with a cue that nobody tells them of, and in runs that are stopped."""

from __future__ import annotations

import copy
from contextlib import nullcontext
from functools import cache

import pytest
import torch
from torch import nn

from einstellung.backbones import backbones
from einstellung.experiments.assembly import resolve
from einstellung.experiments.rehearsal import rehearse
from einstellung.learners import Context, learners, make_learner
from einstellung.learners.mitigation import debian, eiil, jtt, lff  # noqa: F401
from einstellung.results.config import build_config
from einstellung.streams import EvaluationSplit, ImageSet, Phase, Presentation, Stream, streams
from einstellung.training import LoopSettings, PhaseLoop
from tests.learners.conftest import SmallNet
from tests.learners.test_stopped import FILES, ran

GREY = (0.5, 0.5, 0.5)
QUICK = {"eiil": {"ascent_steps": 400, "ascent_lr": 0.02}}
STOPPED = {
    "lff": ({}, ("T1 epoch 2", "T3 epoch 2")),
    "debian": ({}, ("T1 epoch 2", "T3 epoch 2")),
    # two epochs of identifying, then two of training: within the first stage, between the two, within the second
    "jtt": ({"identify_epochs": 2, "times": 5}, ("T1 epoch 2", "T2 epoch 3", "T2 epoch 4")),
    "eiil": ({"identify_epochs": 2, "ascent_steps": 20}, ("T2 epoch 2", "T2 epoch 3", "T3 epoch 4")),
}


def pictures(count: int, common: float, seed: int) -> ImageSet:
    """The upper half shows the cue plainly, the lower half the class, under noise."""
    draws = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % 2
    cue = torch.where(torch.rand(count, generator=draws) < common, labels, 1 - labels)
    images = 128 + torch.randn(count, 3, 4, 4, generator=draws) * torch.tensor([20, 20, 40, 40]).view(1, 1, 4, 1)
    images[:, :, :2] += 50 * (2 * cue - 1).view(-1, 1, 1, 1)
    images[:, :, 2:] += 14 * (2 * labels - 1).view(-1, 1, 1, 1)
    has_cue = torch.zeros(count, dtype=torch.bool)
    return ImageSet(images.clamp(0, 255).to(torch.uint8), labels, torch.arange(count), has_cue, cue)


@cache
def toy() -> tuple[Stream, ImageSet]:
    """600 images, in 95 of 100 of which the cue goes with the class; a test in which it does so in half of them."""
    phase = Phase("T1", (0, 1), (), pictures(600, 0.95, 0))
    stream = Stream("toy", (phase,), (), (), None, None, 2, ("a", "b"), GREY, GREY, crop_padding=0, flip=False)
    return stream, pictures(400, 0.5, 1)


def toy_learner(name: str, seed: int):
    stream, _ = toy()
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Flatten(), nn.Linear(48, 8), nn.ReLU(), nn.Linear(8, 2))
    start = copy.deepcopy(net.state_dict())
    context = Context(
        seed=seed,
        presentation=Presentation(stream),
        autocast=nullcontext,
        make_optimiser=lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
        device=torch.device("cpu"),
        phases=stream.phases,
        initial=lambda: start,
    )
    return make_learner(name, QUICK.get(name, {}), net, context)


def learn(learner, name: str, phase: Phase, epochs: int, size: int = 32) -> None:
    learner.begin_phase(phase)
    before = 0
    for stage in learners[name].stages(learner.options, [len(phase.train)], [epochs], 0):
        learner.begin_stage(phase, stage)
        settings = LoopSettings(stage.passes, size, 0.05, before=before)
        PhaseLoop(learner, phase, settings, lambda *_: None, lambda e: None, lambda c: None).run()
        before += stage.epochs


@cache
def worst_group(name: str, seed: int, epochs: int) -> float:
    stream, test = toy()
    learner = toy_learner(name, seed)
    learn(learner, name, stream.phases[0], epochs)
    with torch.no_grad():
        said = learner.net.eval()(learner.context.presentation.unaugmented(test)).argmax(dim=1)
    groups = 2 * test.labels + test.features
    return min(float((said == test.labels)[groups == group].float().mean()) for group in range(4))


# How long matters. DebiAN's weights are at most 2, so it gets sooner to where plain training gets in the end. LfF's two nets part
# late, and it turns against the cue later still: it is looked at in between.
@pytest.mark.parametrize(("name", "epochs"), [("jtt", 6), ("eiil", 6), ("debian", 6), ("lff", 11)])
def test_the_worst_group_is_better_off_than_with_plain_training(name, epochs):
    ours, plain = (sum(worst_group(one, seed, epochs) for seed in (1, 2)) / 2 for one in (name, "erm"))
    assert ours > plain + 0.05


def uncommon() -> torch.Tensor:
    images = toy()[0].phases[0].train
    return images.features != images.labels


def test_jtt_finds_the_images_in_which_the_cue_misleads():
    learner = toy_learner("jtt", 1)
    learn(learner, "jtt", toy()[0].phases[0], 1)
    errors = learner.state_dict()["inferred"]
    assert float(uncommon()[errors].float().mean()) > 0.8
    assert float(errors[uncommon()].float().mean()) > 0.8


def test_eiil_puts_them_into_an_environment_of_their_own():
    learner = toy_learner("eiil", 1)
    learn(learner, "eiil", toy()[0].phases[0], 1)
    environment = learner.state_dict()["inferred"].bool()
    if float(environment[uncommon()].float().mean()) < 0.5:
        environment = ~environment  # which one is called the first is a matter of lots
    assert float(environment[uncommon()].float().mean()) > 0.9
    assert float(environment[~uncommon()].float().mean()) < 0.2


def test_lff_gives_them_more_weight():
    learner = toy_learner("lff", 1)
    learn(learner, "lff", toy()[0].phases[0], 6)
    biased, debiased = (learner._smoothed[name].losses for name in ("biased", "debiased"))
    weights = biased / (biased + debiased)  # but for the two classes' scales
    assert float(weights[uncommon()].mean()) > float(weights[~uncommon()].mean()) + 0.1


def test_debian_gives_them_more_weight():
    learner, images = toy_learner("debian", 1), toy()[0].phases[0].train
    learn(learner, "debian", toy()[0].phases[0], 4)
    rows, inputs = torch.arange(len(images)), learner.context.presentation.unaugmented(images)
    with torch.no_grad():
        said = learner.net(inputs).softmax(dim=1)[rows, images.labels]
        assigned = learner.second(inputs)[rows, images.labels].sigmoid()
    weights = debian.weights(said, assigned, images.labels, 2)
    assert float(weights[uncommon()].mean()) > float(weights[~uncommon()].mean()) + 0.3


@pytest.mark.parametrize("name", ["lff", "debian"])
def test_a_second_phase_with_other_classes_is_learned(make, stream, name):
    learner = make(name)
    for phase in stream.phases:
        before = copy.deepcopy(learner.net.state_dict())
        learn(learner, name, phase, 1)
        learner.end_phase(phase)
        assert not torch.equal(before["head.weight"], learner.net.state_dict()["head.weight"])
        assert all(bool(value.isfinite().all()) for value in learner.net.state_dict().values())


@pytest.fixture
def config(own_names, tasks):
    @streams.register("tasks")
    def three() -> Stream:
        some = torch.arange(6)
        splits = tuple(EvaluationSplit(f"{p.name}_val", p.name, p.train.take(some), always=True) for p in tasks)
        return Stream("tasks", tasks, splits, (), None, None, 2, ("a", "b"), GREY, GREY, crop_padding=1)

    backbones.add("small", SmallNet)

    def build(method, options, **training):
        training = {
            "epochs": [2, 2, 2],
            "batch_size": 12,
            "precision": "fp32",
            "lr": 0.02,
            "milestones": [1],
            **training,
        }
        values = {
            "name": "three",
            "stream": {"name": "tasks"},
            "backbone": {"name": "small"},
            "training": training,
            "methods": [method],
            "learners": {method: options},
            "seeds": [3],
        }
        return resolve(build_config(values))

    return build


@pytest.mark.parametrize("method", STOPPED)
def test_a_run_that_was_stopped_anywhere_ends_in_the_same_bytes(config, tmp_path, method):
    options, stops = STOPPED[method]
    study = config(method, options, optimiser="adam")
    straight, _ = ran(tmp_path / "straight", study)
    for number, place in enumerate(stops):
        again, stopped = ran(tmp_path / str(number), study, place)
        assert stopped, place
        for name in FILES:
            assert (again.folder / name).read_bytes() == (straight.folder / name).read_bytes(), (place, name)
        assert again.samples == straight.samples


def test_a_run_with_replay_that_was_stopped_ends_in_the_same_bytes(config, tmp_path):
    study = config("er+lff", {"er": {"buffer": 12, "draw": 4}}, optimiser="sgd", momentum=0.9)
    straight, _ = ran(tmp_path / "straight", study)
    again, stopped = ran(tmp_path / "again", study, "T2 epoch 2")
    assert stopped
    for name in FILES:
        assert (again.folder / name).read_bytes() == (straight.folder / name).read_bytes(), name


def test_what_was_inferred_is_not_inferred_again_by_a_run_that_goes_on(config, tmp_path, monkeypatch):
    """Once in every phase, wherever the run was stopped."""
    asked = []
    infer = jtt.JustTrainTwice.infer
    monkeypatch.setattr(
        jtt.JustTrainTwice, "infer", lambda self, phase, z: asked.append(phase.name) or infer(self, phase, z)
    )
    _, stopped = ran(tmp_path, config("jtt", {}), "T2 epoch 3")
    assert stopped
    assert asked == ["T1", "T2", "T3"]


@pytest.mark.parametrize("method", ["lff", "jtt", "eiil", "debian"])
def test_each_can_be_made_for_any_stream_before_anything_is_trained(config, method):
    study = config(method, {})
    rehearse(study, streams["tasks"]())
