"""LwS: its loss and its weights image by image, its clusters, and which images its buffer accepts."""

from __future__ import annotations

import copy
import math
from collections import Counter

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners import Methods, Stage, learners
from einstellung.learners.lws import LossBins, cosine_clusters
from einstellung.learners.methods import learner_options
from einstellung.randomness import generator
from einstellung.streams import ImageSet

SMALL = {"buffer": 24, "draw": 5, "clusters": 2, "bins": 3}


def in_phase(make, batch_of, stream, number, epoch=1, **options):
    """In a phase after its first steps and those of earlier ones, all of which filled the buffer."""
    learner = make("lws", **{**SMALL, **options})
    for phase in stream.phases[: number + 1]:
        learner.begin_phase(phase)
        learner.begin_epoch(phase, 1)
        learner.training_mode()
        for start in (0, 8, 16):
            learner.observe(batch_of(phase, range(start, start + 8)))
    learner.begin_epoch(stream.phases[number], epoch)
    return learner


def features(net, inputs):
    """What the head of the tests' net is given."""
    return net.bn(net.conv(inputs)).relu().mean(dim=(2, 3))


class ByHand:
    """A learner's net, layers and memory at a moment; images are (phase, row) and everything is looked up one by one."""

    def __init__(self, learner, stream):
        self.learner, self.phases = learner, stream.phases
        self.net, self.heads, self.bins = (copy.deepcopy(one) for one in (learner.net, learner.heads, learner.bins))
        self.held = {slot: self.image(int(row)) for slot, row in enumerate(learner.rows)}
        self.stored = dict(enumerate(learner.outputs.clone()))
        self.weights = learner.weights.clone()
        self.layers = [(number, label) for number, phase in enumerate(self.phases) for label in sorted(phase.classes)]

    def image(self, row):
        first = len(self.phases[0].train)
        return (0, row) if row < first else (1, row - first)

    def raw(self, images):
        return ImageSet.joined([self.phases[number].train.take(torch.tensor([row])) for number, row in images])

    def clusters(self, images):
        start = len(self.phases[0].train)
        return torch.stack([self.learner.clusters[row + number * start] for number, row in images])

    def outputs(self, given, images):
        """What the layer of its phase and class says of every image."""
        found = []
        for feature, (number, row) in zip(given, images, strict=True):
            at = 2 * self.layers.index((number, int(self.phases[number].train.labels[row])))
            found.append(self.heads.weight[at : at + 2] @ feature + self.heads.bias[at : at + 2])
        return torch.stack(found)


def test_the_loss_by_hand(make, batch_of, stream):
    learner = in_phase(make, batch_of, stream, 1, epoch=2, gamma=0.6, alpha=0.3, beta=0.7, delta=0.4)
    hand, t2 = ByHand(learner, stream), stream.phases[1]
    chosen = [*range(4), *range(24, 40)]
    batch, images = batch_of(t2, chosen), [(1, row) for row in chosen]
    slots, draws, augmentation, cue = (
        generator(learner.context.seed, name, "T2", 2)
        for name in ("buffer", "replay", "replay-augmentation", "replay-cue")
    )
    shown = features(hand.net, batch.inputs)
    own = hand.outputs(shown, images)
    entered = 0
    for place, draw in enumerate(torch.rand(len(chosen), generator=slots, dtype=torch.float64).tolist()):
        slot = hand.bins.slot(float(learner.early_losses[chosen[place]]), draw)
        if slot is not None:
            hand.held[slot], hand.stored[slot] = images[place], own[place].detach()
            entered += 1
    assert 0 < entered < len(chosen)

    def replayed():
        drawn = torch.randperm(24, generator=draws)[:5].tolist()
        drawn.sort(key=lambda slot: hand.held[slot])
        past = [hand.held[slot] for slot in drawn]
        return drawn, past, learner.context.presentation.training(hand.raw(past), augmentation, cue)

    (first, dark, dark_inputs), (_, labelled, labelled_inputs) = replayed(), replayed()
    assert {number for number, _ in [*dark, *labelled]} == {0, 1}, "images of both phases are replayed"
    weights = hand.weights[chosen]
    assert len(weights.unique()) > 2
    loss = (weights * F.cross_entropy(hand.net.head(shown), batch.labels, reduction="none")).mean()
    loss = loss + 0.6 * F.cross_entropy(own, hand.clusters(images))
    past = torch.stack([hand.stored[slot] for slot in first])
    loss = loss + 0.3 * ((hand.outputs(features(hand.net, dark_inputs), dark) - past) ** 2).mean()
    shown = features(hand.net, labelled_inputs)
    loss = loss + 0.7 * F.cross_entropy(hand.net.head(shown), hand.raw(labelled).labels)
    loss = loss + 0.4 * F.cross_entropy(hand.outputs(shown, labelled), hand.clusters(labelled))
    loss.backward()
    assert torch.allclose(learner.observe(batch), loss.detach(), rtol=1e-5)
    for mine, theirs in ((learner.net, hand.net), (learner.heads, hand.heads)):
        for p, q in zip(mine.parameters(), theirs.parameters(), strict=True):
            assert torch.allclose(p, q - 0.1 * q.grad, atol=1e-6)
    assert [hand.image(int(row)) for row in learner.rows] == list(hand.held.values())
    assert torch.allclose(learner.outputs, torch.stack(list(hand.stored.values())), atol=1e-6)


def test_the_weights_by_hand(make, batch_of, stream):
    """Two epochs of three batches, in which some images are never shown and some twice."""
    learner, t1 = make("lws", **SMALL, gamma=0.5, momentum=0.3), stream.phases[0]
    learner.begin_phase(t1)
    learner.training_mode()
    clusters, labels = learner.clusters[: len(t1.train)].tolist(), t1.train.labels.tolist()
    group = list(zip(labels, clusters, strict=True))
    sizes, latest, weights = Counter(group), {}, [1.0] * len(group)
    for epoch in (1, 2):
        learner.begin_epoch(t1, epoch)
        for start in (0, 12, 40):
            rows, twin, heads = range(start, start + 16), copy.deepcopy(learner.net), copy.deepcopy(learner.heads)
            batch = batch_of(t1, rows)
            with torch.no_grad():
                shown = features(twin, batch.inputs)
                target = F.cross_entropy(twin.head(shown), batch.labels, reduction="none").tolist()
                each = heads(shown).view(16, -1, 2)
                cluster = [
                    float(F.cross_entropy(each[place, labels[row]], torch.tensor(clusters[row])))
                    for place, row in enumerate(rows)
                ]
            learner.observe(batch)
            for place, row in enumerate(rows):
                latest[row] = target[place] + 0.5 * cluster[place]
            means = {}
            for one in sizes:
                losses = [loss for row, loss in latest.items() if group[row] == one]
                means[one] = sum(losses) / len(losses) if losses else 0.0
            new = [means[group[row]] / sum(means.values()) * len(group) / sizes[group[row]] for row in rows]
            for row, value in zip(rows, new, strict=True):
                value /= sum(new) / len(new)
                weights[row] = value if epoch == 1 else 0.7 * weights[row] + 0.3 * value
            assert learner.weights.tolist() == pytest.approx(weights, rel=1e-4)
    assert max(weights) > 1.05
    assert min(weights) < 0.95


def test_a_phase_begins_with_equal_weights_and_no_known_losses(make, batch_of, stream):
    learner = in_phase(make, batch_of, stream, 0, epoch=2)
    assert learner.early_losses is not None
    assert bool((learner.weights != 1).any())
    learner.end_phase(stream.phases[0])
    learner.begin_phase(stream.phases[1])
    assert learner.weights.tolist() == [1.0] * len(stream.phases[1].train)
    assert learner.early_losses is None
    assert learner.bins.counts == [0, 0, 0]
    assert learner.bins.room == 24 // 3 // 2
    assert learner.bins.held > 0


def test_clusters_come_from_the_initial_weights_class_by_class(make, batch_of, stream):
    """A net that has learned, and one that has not: the same clusters in the second phase."""
    trained, fresh = in_phase(make, batch_of, stream, 1), make("lws", **SMALL)
    t1, t2 = stream.phases
    start = copy.deepcopy(fresh.net)
    fresh.begin_phase(t2)
    own = slice(len(t1.train), None)
    assert torch.equal(trained.clusters[own], fresh.clusters[own])
    assert fresh.clusters[: len(t1.train)].tolist() == [-1] * len(t1.train)
    draws, start = generator(fresh.context.seed, "clusters", "T2"), start.eval()
    with torch.no_grad():
        given = features(start, fresh.context.presentation.unaugmented(t2.train))
    for label in sorted(t2.classes):
        rows = (t2.train.labels == label).nonzero().flatten()
        expected = cosine_clusters(given[rows], 2, draws)
        assert torch.equal(fresh.clusters[own][rows], expected)
        assert set(expected.tolist()) == {0, 1}


def test_clusters_with_loops():
    """Lloyd's algorithm, one image at a time; and every image is nearest to the mean direction of its own cluster."""
    draws = torch.Generator().manual_seed(2)
    points = torch.randn(40, 5, generator=draws) * torch.rand(40, 1, generator=draws) * 9
    ours = cosine_clusters(points, 4, torch.Generator().manual_seed(0)).tolist()
    unit = [point / point.norm() for point in points]
    centres = [unit[row] for row in torch.randperm(40, generator=torch.Generator().manual_seed(0))[:4].tolist()]
    for _ in range(50):
        found = [max(range(4), key=lambda c, x=x: float(F.cosine_similarity(x, centres[c], dim=0))) for x in unit]
        centres = [torch.stack([x for x, c in zip(unit, found, strict=True) if c == own]).mean(0) for own in range(4)]
    assert ours == found
    assert len(set(ours)) == 4


def test_few_images_have_few_clusters_and_equal_ones_share_one():
    assert sorted(cosine_clusters(torch.eye(3), 8, torch.Generator().manual_seed(0)).tolist()) == [0, 1, 2]
    assert len(set(cosine_clusters(torch.ones(6, 2), 3, torch.Generator().manual_seed(0)).tolist())) == 1


def test_every_range_of_losses_gets_as_many_places():
    """Mostly small losses, as where most images can be learned by a shortcut."""
    draws = torch.Generator().manual_seed(0)
    bins, buffer = LossBins(40, 4), {}
    for number in (1, 2):
        bins.begin_phase(number)
        losses = torch.cat((torch.tensor([0.0, 8.0]), torch.rand(2000, generator=draws) ** 4 * 8)).tolist()
        for loss, draw in zip(losses, torch.rand(2002, generator=draws).tolist(), strict=True):
            if (slot := bins.slot(loss, draw)) is not None:
                buffer[slot] = (number, int(min(loss // 2, 3)))
        if number == 1:
            assert Counter(buffer.values()) == {(1, own): 10 for own in range(4)}
    assert bins.counts == [5, 5, 5, 5]
    kept = Counter(number for number, _ in buffer.values())
    assert set(buffer) == set(range(40))
    assert 10 <= kept[2] <= 20, "half of the buffer, less where a new image replaced a new one"


@pytest.mark.parametrize(("passes", "epochs"), [(25.0, 5), (10.0, 2), (3.0, 1), (2.5, 1), (2.0, 1), (1.0, 0), (0.5, 0)])
def test_losses_are_measured_after_a_fifth_of_the_phase(make, batch_of, stream, passes, epochs):
    learner, t1 = make("lws", **SMALL), stream.phases[0]
    learner.begin_phase(t1)
    learner.begin_stage(t1, Stage("train", passes))
    for epoch in range(1, epochs + 2):
        assert learner.early_losses is None
        learner.training_mode()
        learner.begin_epoch(t1, epoch)
        before = learner.bins.held
        net = copy.deepcopy(learner.net).eval()
        assert learner.net.training
        learner.observe(batch_of(t1, range(8)))
        assert (learner.bins.held > before) == (epoch == epochs + 1)
    inputs = learner.context.presentation.unaugmented(t1.train)
    with torch.no_grad():
        losses = F.cross_entropy(net(inputs), t1.train.labels, reduction="none")
    assert torch.allclose(learner.early_losses, losses, atol=1e-6)
    kept = learner.early_losses.clone()
    learner.begin_epoch(t1, epochs + 2)
    assert torch.equal(learner.early_losses, kept), "they are measured once"


def test_a_net_that_has_diverged_has_no_ranges_of_losses(make, stream):
    learner, t1 = make("lws", **SMALL), stream.phases[0]
    learner.begin_phase(t1)
    learner.net.head.bias.data[0] = math.inf
    with pytest.raises(FloatingPointError, match=r"image of T1 is not finite: lower training\.lr"):
        learner.begin_epoch(t1, 1)


def test_phases_that_share_classes_have_layers_of_their_own(make, tasks):
    learner = make("lws", phases=tasks, **SMALL)
    assert len(learner.heads.weight) == 3 * 2 * 2
    heads = learner._head.view(3, -1)
    assert [sorted(set(one.tolist())) for one in heads] == [[0, 1], [2, 3], [4, 5]]


def test_what_is_refused(make, stream):
    for key, value in (("clusters", 0), ("momentum", 0.0), ("early", 1.0), ("delta", -1.0), ("bins", 0)):
        with pytest.raises(InputError, match=rf"learners\.lws\.{key} is {value}"):
            learner_options("lws", {key: value})
    with pytest.raises(InputError, match="with 4 bins and 2 phases give at least 8"):
        make("lws", buffer=7)
    with pytest.raises(InputError, match="cannot be combined with replay"):
        Methods()["er+lws"]
    learner = make("erm-then-lws", lws=SMALL)
    learner.begin_phase(stream.phases[0])
    with pytest.raises(InputError, match="cannot come after another method"):
        learner.end_phase(stream.phases[0])


def test_the_price_counts_draws_and_passes():
    workload, options = learners["lws"].workload, learner_options("lws", {"draw": 8, "early": 0.25})
    extra = [workload.extra_images_per_step(options, [100, 100], number) for number in (0, 1)]
    assert extra == [12, 16]
    assert math.isclose(workload.closing_cost(options, 100), 70)
