"""X-DER: its loss with explicit loops, the logits that change in its memory, and what that holds."""

from __future__ import annotations

import copy
import math
from collections import Counter

import pytest
import torch
import torch.nn.functional as F

from einstellung.errors import InputError
from einstellung.learners import learners
from einstellung.learners.methods import learner_options
from einstellung.learners.xder import contrast, transplanted
from einstellung.randomness import generator

SMALL = {"buffer": 24, "draw": 6, "consistency_draw": 5, "views": 2, "eta": 0.5, "consistency": 0.3}


def in_phase(make, stream, number, **options):
    learner = make("xder", **{**SMALL, **options})
    for phase in stream.phases[:number]:
        learner.begin_phase(phase)
        learner.end_phase(phase)
    learner.begin_phase(stream.phases[number])
    learner.begin_epoch(stream.phases[number], 1)
    learner.training_mode()
    return learner


def supervised_contrast(outputs, labels, temperature):
    """Khosla et al. (2020), equation 2, with loops."""
    total = 0.0
    for i, one in enumerate(outputs):
        others = [j for j in range(len(outputs)) if j != i]
        alike = {j: math.exp(float(F.cosine_similarity(one, outputs[j], dim=0)) / temperature) for j in others}
        same = [j for j in others if labels[j] == labels[i]]
        total -= sum(math.log(alike[j] / sum(alike.values())) for j in same) / len(same)
    return total / len(outputs)


def test_the_contrast_is_the_papers_sum():
    draws = torch.Generator().manual_seed(0)
    outputs, labels = torch.randn(8, 5, generator=draws), torch.tensor([0, 0, 1, 1, 2, 2, 2, 0])
    ours = float(contrast(outputs, labels, 0.7))
    assert ours == pytest.approx(supervised_contrast(outputs, labels.tolist(), 0.7), rel=1e-5)


def test_the_loss_of_the_first_phase_by_hand(make, batch_of, stream):
    learner = in_phase(make, stream, 0)
    t1, t2 = stream.phases
    twin, batch = copy.deepcopy(learner.net), batch_of(t1, range(8))
    draws, cue = generator(7, "xder", "T1", 1), generator(7, "xder-cue", "T1", 1)
    learner.draws, learner.cue = draws, cue
    learner.views_of = lambda raw: learner.context.presentation.unaugmented(raw) * 1.5
    logits = twin(batch.inputs)
    loss = F.cross_entropy(logits[:, : len(t1.classes)], batch.labels)
    shown = learner.context.presentation.unaugmented(batch.raw).repeat_interleave(2, dim=0) * 1.5
    views = twin(shown)[:, list(t2.classes)]
    consistency = supervised_contrast(views.detach(), batch.labels.repeat_interleave(2).tolist(), 5.0)
    gaps = [float(row[list(t2.classes)].max() + 0.3 - row[list(t1.classes)].max()) for row in logits.detach()]
    expected = float(loss.detach()) + 0.3 * consistency + 0.5 * sum(g for g in gaps if g > 0) / sum(g > 0 for g in gaps)
    assert any(gap > 0 for gap in gaps)
    assert float(learner.observe(batch)) == pytest.approx(expected, rel=1e-4)


def test_the_loss_of_the_last_phase_by_hand(make, batch_of, stream):
    learner = in_phase(make, stream, 1, alpha=0.6, beta=0.4)
    t1, t2 = stream.phases
    old, new = list(t1.classes), list(t2.classes)
    twin, memory, logits = copy.deepcopy(learner.net), learner._images, learner.logits.clone()
    draws, augmentation, cue, chances = (
        generator(learner.context.seed, name, "T2", 1)
        for name in ("replay", "replay-augmentation", "replay-cue", "xder-updates")
    )
    first, second = (torch.randperm(24, generator=draws)[:6] for _ in range(2))
    inputs = [learner.context.presentation.training(memory.take(rows), augmentation, cue) for rows in (first, second)]
    batch = batch_of(t2, range(8))
    own = torch.tensor([new.index(label) for label in batch.labels.tolist()])
    mixed, statistics = torch.cat((inputs[0], batch.inputs[:6])), copy.deepcopy(twin)
    statistics(mixed)  # neither the batch by itself nor the second draw moves them
    loss = F.cross_entropy(twin(batch.inputs)[:, new], own)
    dark, labelled = twin(mixed)[:6], twin(inputs[1])
    loss = loss + 0.6 * ((dark - logits[first]) ** 2).mean()
    loss = loss + 0.4 * F.cross_entropy(labelled[:, old], memory.labels[second])
    assert float(learner.observe(batch)) == pytest.approx(float(loss.detach()), rel=1e-5)
    assert torch.allclose(learner.net.bn.running_mean, statistics.bn.running_mean)
    loss.backward()
    for (name, p), q in zip(learner.net.named_parameters(), twin.named_parameters(), strict=True):
        q = q[1]
        assert torch.allclose(p, q - 0.1 * q.grad, atol=1e-6), name

    outputs = {}
    for row, output in zip([*first.tolist(), *second.tolist()], [*dark, *labelled], strict=True):
        outputs.setdefault(row, output.detach())
    assert torch.rand(len(outputs), generator=chances).max() < 1, "drawn for the first time: all are updated"
    for row in range(24):
        expected = logits[row].clone()
        if row in outputs:
            fresh, target = outputs[row][new], expected[memory.labels[row]]
            expected[new] = fresh if fresh.max() <= target else fresh * 0.85 * target / fresh.max()
        assert torch.allclose(learner.logits[row], expected, atol=1e-6), row
    assert learner.updates.tolist() == [float(row in outputs) for row in range(24)]


def test_logits_are_scaled_only_where_they_exceed_that_of_the_class():
    old = torch.tensor([[2.0, 1.0, 7.0, 7.0], [2.0, 1.0, 7.0, 7.0]])
    new = torch.tensor([[0.0, 0.0, 1.0, 2.0], [0.0, 0.0, 3.0, 6.0]])
    ours = transplanted(old, new, torch.tensor([0, 0]), torch.tensor([2, 3]), 0.9)
    assert torch.allclose(ours, torch.tensor([[2.0, 1.0, 1.0, 2.0], [2.0, 1.0, 0.9, 1.8]]))


def test_the_memory_has_an_equal_part_for_every_class_seen(make, stream):
    learner = make("xder", **{**SMALL, "buffer": 75})
    t1, t2 = stream.phases
    sizes = []
    for phase in stream.phases:
        learner.begin_phase(phase)
        learner.end_phase(phase)
        assert len(learner.rows) == 75
        assert learner.rows.unique().numel() == 75
        sizes.append(Counter(learner._images.labels.tolist()))
    assert set(sizes[0].values()) == {3, 4}  # 75 = 24 classes x 3, and three more
    assert {sizes[1][label] for label in t1.classes} == {75 // 36}
    assert {sizes[1][label] for label in t2.classes} == {2, 3}  # the 27 places left, for 12 classes
    own = learner.logits.gather(1, learner._images.labels[:, None]).squeeze(1)
    past, new = learner.logits[-27:, list(t1.classes)].amax(1), own[-27:]
    assert bool((past <= torch.maximum(new, past)).all())
    assert bool((past[new > 0] <= new[new > 0] + 1e-6).all()), "new images were stored with past logits below their own"


def test_an_image_drawn_for_the_kth_time_is_updated_with_probability_1_over_k(make, batch_of, stream):
    learner = in_phase(make, stream, 1, draw=24, lr=0.0)
    batch = batch_of(stream.phases[1], range(8))
    changed = []
    for _ in range(4):
        before = learner.logits.clone()
        learner.net.head.bias.data += 0.01
        learner.observe(batch)
        changed.append(int((learner.logits != before).any(dim=1).sum()))
    assert changed[0] == 24
    assert 24 > changed[1] > changed[3]


def test_what_is_refused(make, tasks):
    with pytest.raises(InputError, match="phases of this stream share classes"):
        make("xder", phases=tasks)
    for key, value in (("views", 1), ("temperature", 0.0), ("buffer", 0), ("eta", -1.0)):
        with pytest.raises(InputError, match=rf"learners\.xder\.{key} is {value}"):
            learner_options("xder", {key: value})


def test_the_price_counts_draws_and_views():
    workload, options = learners["xder"].workload, learner_options("xder", {"draw": 8, "views": 4})
    sizes = [100, 100, 100]
    extra = [workload.extra_images_per_step(options, sizes, number) for number in range(3)]
    assert extra == [0, 2 * 8 + 4 * 64, 2 * 8]
    assert [workload.cost(options, sizes, number) for number in range(3)] == [5, 5, 1]
