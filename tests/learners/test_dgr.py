"""DGR: its loss by hand, its weights over the phases, a past that stays as it was, and what the generator learns from."""

from __future__ import annotations

import copy
import dataclasses

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners import learners
from einstellung.learners.dgr import DGROptions
from einstellung.modalities import crop_and_flip
from einstellung.randomness import generator
from einstellung.training import LoopSettings, PhaseLoop
from einstellung.training.checkpoint import load_state, save_state

SMALL = {"z": 5, "generator_epochs": 1, "generator_batch": 200}


def begin(learner, phase, epoch=1):
    learner.begin_phase(phase)
    learner.training_mode()
    learner.begin_epoch(phase, epoch)


def after_first_phase(make, batch_of, stream, **options):
    """A learner that has closed T1."""
    learner = make("dgr", **{**SMALL, **options})
    begin(learner, stream.phases[0])
    learner.observe(batch_of(stream.phases[0]))
    learner.end_phase(stream.phases[0])
    return learner


def three_phases(learner, stream):
    """The same learner in a stream in which the second phase is followed by one like it."""
    t1, t2 = stream.phases
    phases = (t1, t2, dataclasses.replace(t2, name="T3"))
    learner.context = dataclasses.replace(learner.context, phases=phases)
    return phases


def replayed(learner, stream, count, phase="T2"):
    """What the net should see of the past in the first step of an epoch."""
    seed, presentation = learner.context.seed, learner.context.presentation
    drawn = learner.autoencoder.draw(count, generator(seed, "generated", phase, 1))
    cropped = crop_and_flip(drawn, stream.crop_padding, stream.flip, generator(seed, "replay-augmentation", phase, 1))
    return presentation.normalised(cropped)


@pytest.mark.parametrize("targets", ["hard", "soft"])
@pytest.mark.parametrize("number", [2, 3])
def test_the_step_by_hand(make, batch_of, stream, targets, number):
    """1/t on the batch, 1 - 1/t on as many generated images, in two passes; sgd's own step has the first part only."""
    learner = after_first_phase(make, batch_of, stream, targets=targets, temperature=3.0)
    phase = three_phases(learner, stream)[number - 1]
    begin(learner, phase)
    twin, solver = copy.deepcopy(learner.net), copy.deepcopy(learner.net).eval()
    batch = batch_of(phase, range(6))
    inputs = replayed(learner, stream, 6, phase.name)
    known = sorted(label for earlier in learner.context.phases[: number - 1] for label in earlier.classes)
    present = F.cross_entropy(twin(batch.inputs), batch.labels)
    logits = twin(inputs)
    with torch.no_grad():
        said = solver(inputs)[:, sorted(set(known))]
    if targets == "hard":
        labels = torch.tensor([sorted(set(known))[i] for i in said.argmax(dim=1).tolist()])
        past = -logits.log_softmax(dim=1)[torch.arange(6), labels].mean()
    else:
        likely = (said / 3).exp() / (said / 3).exp().sum(dim=1, keepdim=True)
        past = 9 * -(likely * (logits / 3).log_softmax(dim=1)[:, sorted(set(known))]).sum(dim=1).mean()
    loss = present / number + (number - 1) / number * past
    loss.backward()

    assert torch.allclose(learner.observe(batch), loss.detach(), rtol=1e-5)
    for p, q in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q - 0.1 * q.grad, atol=1e-6)
    for name, value in twin.named_buffers():  # two passes: the statistics of both, one after the other
        assert torch.equal(value, learner.net.get_buffer(name)), name


@pytest.mark.parametrize("targets", ["hard", "soft"])
def test_the_past_names_classes_of_the_past_only(make, batch_of, stream, targets):
    learner = after_first_phase(make, batch_of, stream, targets=targets)
    unseen = list(stream.phases[1].classes)
    with torch.no_grad():
        learner.solver.head.bias[unseen] += 100.0
    begin(learner, stream.phases[1])
    _, said = learner.replay(learner.solver, 20)
    if targets == "hard":
        assert set(said.tolist()) <= set(stream.phases[0].classes)
    else:
        assert bool((said[:, unseen] == 0).all())
        assert torch.allclose(said.sum(dim=1), torch.ones(20))


def test_the_first_phase_is_plain(make, batch_of, stream):
    """That is why its weights may be shared with plain fine-tuning."""
    learner, sgd = make("dgr", **SMALL), make("sgd")
    assert learner.shares_first_phase(learner.options)
    assert learner.pictures() == learner.state_dict() == {}
    for one in (learner, sgd):
        begin(one, stream.phases[0])
        for rows in (range(8), range(8, 16)):
            one.observe(batch_of(stream.phases[0], rows))
    for name, value in sgd.net.state_dict().items():
        assert torch.equal(learner.net.state_dict()[name], value), name


def test_generator_and_solver_stay_as_they_were_while_a_phase_is_learned(make, batch_of, stream):
    learner = after_first_phase(make, batch_of, stream)
    before = copy.deepcopy(learner.state_dict())
    net = copy.deepcopy(learner.net.state_dict())
    assert all(torch.equal(value, net[name]) for name, value in before["solver"].items())
    begin(learner, stream.phases[1])
    for rows in (range(8), range(8, 16)):
        learner.observe(batch_of(stream.phases[1], rows))
    for part in ("solver", "generator"):
        assert all(torch.equal(value, before[part][name]) for name, value in learner.state_dict()[part].items())
    assert not learner.solver.training
    assert not any(p.requires_grad for p in learner.solver.parameters())
    assert not torch.equal(learner.net.head.weight, before["solver"]["head.weight"])
    learner.end_phase(stream.phases[1])
    assert torch.equal(learner.net.head.weight, learner.solver.head.weight)


def test_the_generator_learns_every_image_with_its_cue(make, stream, monkeypatch):
    learner = make("dgr", **{**SMALL, "generator_batch": 7})
    seen = []
    losses = learner.autoencoder.losses
    monkeypatch.setattr(
        learner.autoencoder, "losses", lambda images, noise: seen.append(images) or losses(images, noise)
    )
    phase = stream.phases[1]
    learner.end_phase(phase)
    assert {len(images) for images in seen[:-1]} == {7}
    shown = sorted((torch.cat(seen) * 255).round().long().flatten(1).tolist())
    painted = learner.context.presentation.painted(phase.train.images, phase.train)
    assert shown == sorted(painted.long().flatten(1).tolist())
    assert not torch.equal(painted, phase.train.images)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_generator_mixes_present_and_past(make, batch_of, stream, number):
    """Two steps of Adam by hand: 1/t on the phase's images, 1 - 1/t on as many of the generator before, which stays."""
    learner = after_first_phase(make, batch_of, stream) if number > 1 else make("dgr", **SMALL)
    phase = three_phases(learner, stream)[number - 1]
    count = len(phase.train)
    learner.options = dataclasses.replace(learner.options, generator_batch=count // 2)
    with torch.no_grad():
        for p in learner.autoencoder.decoder.parameters():
            p.mul_(4)  # images that differ from one another
    twin, previous = copy.deepcopy(learner.autoencoder), copy.deepcopy(learner.autoencoder)
    learner.end_phase(phase)

    optimiser = torch.optim.Adam(twin.parameters(), lr=1e-3)
    purposes = ("generator-order", "generator-noise", "generator-replay")
    order, noise, draws = (generator(learner.context.seed, purpose, phase.name, 1) for purpose in purposes)
    painted = learner.context.presentation.painted(phase.train.images, phase.train)
    for rows in torch.randperm(count, generator=order).split(count // 2):
        codes = torch.randn(len(rows), 5, generator=noise)
        loss = twin.losses(painted[rows] / 255, codes).mean() / number
        if number > 1:
            past = previous.draw(len(rows), draws) / 255
            codes = torch.randn(len(rows), 5, generator=noise)
            loss = loss + (number - 1) / number * twin.losses(past, codes).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    for (name, p), q in zip(learner.autoencoder.named_parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q, atol=1e-5), name
    assert not torch.allclose(previous.decoder[0].weight, learner.autoencoder.decoder[0].weight, atol=1e-4)


def test_pictures_are_always_the_same(make, batch_of, stream):
    learner = after_first_phase(make, batch_of, stream)
    (name, images), *rest = learner.pictures().items()
    assert (name, rest) == ("generated", [])
    assert images.shape == (64, 3, 12, 12)
    assert images.dtype == torch.uint8
    assert torch.equal(images, learner.pictures()["generated"])


def silent(*_: object) -> None:
    return None


def test_generated_images_do_not_count(make, batch_of, stream):
    learner = after_first_phase(make, batch_of, stream)
    phase = stream.phases[1]
    counts, seen = [], []
    net = learner.net.forward
    learner.net.forward = lambda x: seen.append(len(x)) or net(x)
    learner.begin_phase(phase)
    PhaseLoop(learner, phase, LoopSettings(2, 8, 0.05), silent, silent, counts.append).run()
    assert sum(count[phase.name] for count in counts) == 2 * len(phase.train)
    assert sum(seen) == 4 * len(phase.train)


def test_a_run_goes_on_from_a_file_bit_for_bit(make, batch_of, stream, tmp_path):
    """In the next epoch, and in the generator's training at the end of the phase."""
    t2 = stream.phases[1]

    def epoch(learner, number):
        learner.training_mode()
        learner.begin_epoch(t2, number)
        for rows in (range(8), range(8, 16)):
            learner.observe(batch_of(t2, rows))

    learner = after_first_phase(make, batch_of, stream, targets="soft")
    learner.begin_phase(t2)
    epoch(learner, 1)
    save_state(tmp_path / "state", {"net": learner.net.state_dict(), "learner": learner.state_dict()})
    epoch(learner, 2)
    learner.end_phase(t2)

    other, state = make("dgr", **SMALL, targets="soft"), load_state(tmp_path / "state")
    other.net.load_state_dict(state["net"])
    other.load_state_dict(state["learner"])
    assert not torch.equal(other.net.head.weight, other.solver.head.weight)
    other.begin_phase(t2)
    epoch(other, 2)
    other.end_phase(t2)
    for name, value in learner.net.state_dict().items():
        assert torch.equal(value, other.net.state_dict()[name]), name
    for part, values in learner.state_dict().items():
        assert all(torch.equal(value, other.state_dict()[part][name]) for name, value in values.items()), part
    untouched = make("dgr", **SMALL)
    untouched.load_state_dict({})
    assert untouched.solver is None


def test_a_generator_that_diverges_stops_the_run(make, stream):
    learner = make("dgr", **{**SMALL, "generator_lr": 1e6, "generator_batch": 8})
    with pytest.raises(FloatingPointError, match=r"generator of T1: lower learners\.dgr\.generator_lr"):
        learner.end_phase(stream.phases[0])


def test_the_price_counts_replay_and_the_generator():
    kind = learners["dgr"]
    assert kind.workload.cost(DGROptions(), [200, 100], 0) == 1.0
    assert kind.workload.cost(DGROptions(), [200, 100], 1) > 2
    prices = [kind.workload.closing_cost(DGROptions(generator_epochs=epochs), 200) for epochs in (1, 10)]
    assert prices[1] == 10 * prices[0] > 0


def test_a_long_training_of_the_generator_says_how_far_it_is(make, stream):
    learner = make("dgr", **{**SMALL, "generator_epochs": 2})
    said = []
    learner.context = dataclasses.replace(learner.context, report_progress=said.append)
    learner.end_phase(stream.phases[0])
    assert said == ["generator epoch 1/2", "generator epoch 2/2"]


@pytest.mark.parametrize(
    "options",
    [
        {"generator": "gan"},
        {"targets": "both"},
        {"z": 0},
        {"generator_epochs": 0},
        {"generator_batch": 0},
        {"generator_lr": 0.0},
        {"temperature": -1.0},
    ],
)
def test_wrong_options_are_named(options):
    with pytest.raises(InputError, match=rf"learners\.dgr\.{next(iter(options))} is"):
        DGROptions(**options)
