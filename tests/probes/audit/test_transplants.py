from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from einstellung.probes.audit import AuditedModel, audit_model
from einstellung.probes.audit.components import COMPONENTS, examine_components, exchanged
from einstellung.probes.audit.examination import covered, upper
from einstellung.probes.audit.extent import box_of_shared_content
from einstellung.probes.audit.transplants import PredictedImages, foreign_donors, pulls, transplant_map
from einstellung.probes.audit.windows import area, clipped, grid, iou, mask_of, overlap, pasted
from tests.probes.audit import toy


@given(
    st.lists(st.integers(0, 4), min_size=4, max_size=60).filter(lambda labels: len(set(labels)) > 1), st.integers(0, 99)
)
def test_donors_are_of_another_class(labels, seed):
    given_labels = np.array(labels)
    donors = foreign_donors(given_labels, np.random.default_rng(seed))
    assert (given_labels[donors] != given_labels).all()
    if 2 * np.bincount(given_labels).max() <= len(labels):
        assert sorted(donors.tolist()) == list(range(len(labels)))


@given(st.integers(8, 70), st.integers(8, 70), st.floats(0.01, 0.2))
def test_a_grid_covers_every_pixel(height, width, share):
    side = max(2, round((share * height * width) ** 0.5))
    side = min(side, height, width)
    boxes = grid(height, width, side)
    seen = mask_of(boxes, len(boxes), height, width).any(dim=0)
    assert bool(seen.all())
    assert all(clipped(*box, (height, width)) == box for box in boxes)


def test_boxes_by_hand():
    one, other = (0, 0, 4, 4), (2, 2, 4, 4)
    assert overlap(one, other) == 4
    assert iou(one, other) == pytest.approx(4 / 28)
    assert area(other) == 16
    assert clipped(-1, 30, 4, 4, (32, 32)) == (0, 30, 3, 2)


def test_pasting_moves_only_the_box():
    draws = torch.Generator().manual_seed(0)
    some, other = (torch.randint(0, 256, (3, 3, 9, 9), generator=draws, dtype=torch.uint8) for _ in range(2))
    boxes = [(0, 0, 3, 3), (4, 5, 2, 4), (6, 6, 3, 3)]
    mixed = pasted(some, other, boxes)
    for row, box in enumerate(boxes):
        inside = mask_of(box, 1, 9, 9)[0].expand(3, -1, -1)
        assert torch.equal(mixed[row][inside], other[row][inside])
        assert torch.equal(mixed[row][~inside], some[row][~inside])
    assert torch.equal(pasted(some, other, boxes[0])[1], pasted(some[1:2], other[1:2], [boxes[0]])[0])


def predicted(reliance: float, share: float = 1.0) -> PredictedImages:
    shown, labels, _ = toy.images(per_class=20, share=share)
    return PredictedImages.of(toy.model(reliance), shown, labels.numpy())


def test_the_cues_window_pulls_and_is_missed():
    some = predicted(12.0)
    found = transplant_map(some, [toy.CUE_BOX, (14, 2, 4, 4)], np.random.default_rng(0))
    there, elsewhere = found.pull(some, toy.CUE_CLASS)
    assert there > 0.5 > 5 * abs(elsewhere)
    missed, not_missed = found.miss(some, toy.CUE_CLASS)
    assert missed > 0.3 > 3 * abs(not_missed)
    gains = found.gains(some)[some.labels == toy.CUE_CLASS]
    assert np.nanmean(gains[:, 0]) == pytest.approx(there)


def test_pulls_are_gains_of_the_target():
    some = predicted(12.0)
    rows = np.flatnonzero(some.labels == toy.CUE_CLASS)
    values = pulls(some, rows, toy.CUE_BOX, (toy.CUE_CLASS,), 3, np.random.default_rng(1))
    assert values.shape == (len(rows), 3)
    assert values.mean() > 0.5
    assert pulls(some, rows, toy.CUE_BOX, (0,), 3, np.random.default_rng(1)).mean() < 0.05


def test_covering_counts_what_is_lost():
    some = predicted(12.0)
    rows = np.flatnonzero(some.labels == toy.CUE_CLASS)
    fall, lost = covered(some, rows, toy.CUE_BOX)
    hidden = some.images[torch.from_numpy(rows)].clone()
    top, left, tall, wide = toy.CUE_BOX
    hidden[..., top : top + tall, left : left + wide] = 0
    after = toy.model(12.0).probabilities(hidden)
    assert fall["black"] == pytest.approx(some.before[rows, toy.CUE_CLASS] - after[:, toy.CUE_CLASS], abs=1e-6)
    right = (some.before[rows].argmax(1) == toy.CUE_CLASS) * 1.0 - (after.argmax(1) == toy.CUE_CLASS)
    assert lost["black"] == pytest.approx(right)


def test_the_extent_of_shared_content_is_exact():
    some = predicted(12.0)
    rows = np.flatnonzero(some.labels == toy.CUE_CLASS)
    assert box_of_shared_content(some, rows, (1, 14, 5, 5), (toy.CUE_CLASS,)) == toy.CUE_BOX
    clean = np.flatnonzero(some.labels == 0)
    assert box_of_shared_content(some, clean[:3], (1, 14, 5, 5), (0,)) is None


def test_upper_ignores_one_class():
    assert upper([0.1, 0.9, 0.2, 0.3, 0.0]) == 0.3


@pytest.mark.parametrize("name", COMPONENTS)
def test_an_image_with_its_own_component_is_itself(name):
    shown = predicted(0.0).images
    assert (exchanged(name, shown, shown).int() - shown.int()).abs().max() <= 1


def test_a_tint_is_a_global_cue():
    shown, labels, _ = toy.images(per_class=20, share=0.0)
    tinted = shown.clone()
    own = labels == 1
    tinted[own, 0] = (tinted[own, 0].int() + 40).clamp(max=255).to(torch.uint8)

    def forward(inputs):
        logits = toy.forward(inputs, 0.0)
        redness = (inputs[:, 0] - inputs[:, 1]).mean(dim=(1, 2))
        return logits + torch.stack([0 * redness, 60 * redness - 2, 0 * redness, 0 * redness], dim=1)

    some = PredictedImages.of(AuditedModel("tinted", forward), tinted, labels.numpy())
    found = examine_components(some, np.random.default_rng(0))
    best = max(found, key=lambda one: one.strength)
    assert (best.label, best.component) == (1, "colour")
    assert best.beats_nsc()
    assert best.beats_random()
    assert best.beats_fillings()


def test_a_blur_is_a_global_cue():
    """Removing detail that is missing changes nothing, so the controls give a blurred image ordinary detail instead."""
    shown, labels, _ = toy.images(per_class=20, share=0.0)
    blurred = shown.clone()
    own = labels == 1
    smooth = torch.nn.functional.avg_pool2d(shown[own].float(), 3, 1, padding=1, count_include_pad=False)
    blurred[own] = smooth.round().to(torch.uint8)

    def forward(inputs):
        logits = toy.forward(inputs, 0.0)
        detail = inputs.diff(dim=-1).abs().mean(dim=(1, 2, 3))
        return logits + torch.stack([0 * detail, 6 - 60 * detail, 0 * detail, 0 * detail], dim=1)

    some = PredictedImages.of(AuditedModel("blurred", forward), blurred, labels.numpy())
    found = {(one.label, one.component): one for one in examine_components(some, np.random.default_rng(0))}
    one = found[1, "high frequencies"]
    assert one.pull == max(other.pull for (label, _), other in found.items())
    assert one.beats_nsc()
    assert one.beats_random()
    assert one.beats_fillings()


def test_unequal_classes_do_not_inflate_gains():
    """A gain of probability is at most 1, however often an image is a donor."""
    shown, labels, _ = toy.images(per_class=30, share=0.0)
    rows = torch.cat([(labels == 0).nonzero().flatten(), (labels == 1).nonzero().flatten()[:4]])
    some = PredictedImages.of(toy.model(0.0), shown[rows], labels[rows].numpy())
    for one in examine_components(some, np.random.default_rng(0)):
        assert np.abs(one.by_donor).max() <= 1.0


def test_one_channel_has_no_colour():
    shown, labels, _ = toy.images(per_class=12, share=0.0)
    model = AuditedModel("grey", lambda inputs: toy.forward(inputs.repeat(1, 3, 1, 1), 0.0))
    some = PredictedImages.of(model, shown[:, :1], labels.numpy())
    assert {one.component for one in examine_components(some, np.random.default_rng(0))} == {
        "low frequencies",
        "high frequencies",
        "border",
    }
    assert audit_model(model, shown[:, :1], labels, {}).cannot_tell is None
