from __future__ import annotations

import numpy as np
import pytest
import torch

from einstellung.errors import InputError
from einstellung.probes.audit import AuditedModel, AuditSettings, audit_model, proxy_controls
from einstellung.probes.audit.audit import ALARM_RATE, ROUTES, Null, halves, null_of_clean_nets
from einstellung.probes.audit.examination import FILLINGS
from einstellung.probes.audit.proxies import mask_within, occlusion_maps
from einstellung.probes.audit.proxy_controls import RANDOM_MASKS
from einstellung.probes.audit.refinement import refined
from einstellung.probes.audit.relative import relative_rows
from einstellung.probes.audit.transplants import PredictedImages
from einstellung.probes.audit.windows import iou, mask_of
from tests.probes.audit import toy

NAMES = {label: f"grating {label}" for label in range(toy.CLASSES)}


@pytest.fixture(scope="module")
def relying():
    shown, labels, bears = toy.images()
    return audit_model(toy.model(12.0), shown, labels, NAMES), shown, labels, bears


def test_a_patch_is_found_at_its_place_with_its_worth(relying):
    audit, shown, labels, _ = relying
    finding = next(one for one in audit.findings if one.kind == "localised")
    assert finding.label == toy.CUE_CLASS
    assert finding.name == "grating 2"
    assert finding.box is not None
    assert iou(finding.box, toy.CUE_BOX) >= 0.5
    assert finding.beats.count == 3
    assert finding.p <= ALARM_RATE
    assert finding.strength > finding.threshold
    # the worth of the true region, computed without the audit
    model = toy.model(12.0)
    own = labels == toy.CUE_CLASS
    top, left, tall, wide = toy.CUE_BOX
    covered = shown[own].clone()
    covered[..., top : top + tall, left : left + wide] = 0
    before, after = ((model.logits(part).argmax(1) == toy.CUE_CLASS).float().mean() for part in (shown[own], covered))
    assert finding.delta == pytest.approx(float(before - after), abs=0.15)
    assert finding.ci95 is not None
    assert finding.ci95[0] <= finding.delta <= finding.ci95[1]


def test_the_images_that_bear_it_come_first(relying):
    audit, _, labels, bears = relying
    finding = audit.findings[0]
    ranked = [image.index for image in finding.images]
    assert sorted(ranked) == np.flatnonzero((labels == toy.CUE_CLASS).numpy()).tolist()
    count = int(bears.sum())
    assert bears[torch.tensor(ranked[:count])].float().mean() >= 0.9


def test_every_proxy_says_what_it_covered(relying):
    audit = relying[0]
    assert {row.proxy for row in audit.proxies} == {"occlusion", "attribution", "replacement"}
    for row in audit.proxies:
        assert row.area == pytest.approx(row.budget, abs=0.02)
    by_class = {
        row.label: row.delta for row in audit.proxies if row.method == "integrated gradients" and row.budget == 0.05
    }
    assert max(by_class, key=by_class.__getitem__) == toy.CUE_CLASS


def test_a_model_that_ignores_the_patch_is_not_accused():
    shown, labels, _ = toy.images()
    audit = audit_model(toy.model(0.0), shown, labels, NAMES)
    assert audit.accuracy > 0.5
    assert audit.findings == ()


def test_a_patch_that_moves_is_found_in_each_image():
    shown, labels, _ = toy.images(moving=True, share=1.0, seed=3)
    audit = audit_model(toy.model(14.0), shown, labels, NAMES)
    finding = next(one for one in (*audit.findings, *audit.suspicions) if one.moves)
    assert (finding.label, finding.box) == (toy.CUE_CLASS, None)
    red = (shown[:, 0] == 255) & (shown[:, 1] == 52)
    hits = []
    for image in finding.images:
        assert image.box is not None
        top, left, tall, wide = image.box
        hits.append(bool(red[image.index, top : top + tall, left : left + wide].float().mean() > 0.1))
    assert np.mean(hits) >= 0.9


def test_the_same_seed_gives_the_same_audit(relying):
    again = audit_model(toy.model(12.0), relying[1], relying[2], NAMES)
    kept = {"seconds": 0.0, "images_evaluated": 0}
    assert again.model_copy(update=kept) == relying[0].model_copy(update=kept)


def test_relative_to_a_baseline(relying):
    audit, shown, labels, _ = relying
    rows = relative_rows(toy.model(12.0), toy.model(0.0), shown, labels, audit, "new", "old")
    row = rows[0]
    assert (row.model, row.baseline, row.label) == ("new", "old", toy.CUE_CLASS)
    assert row.sfr_rel == pytest.approx(row.delta - row.delta_baseline)
    own = labels == toy.CUE_CLASS
    top, left, tall, wide = audit.findings[0].box
    covered = shown[own].clone()
    covered[..., top : top + tall, left : left + wide] = 0
    before, after = (
        (toy.model(0.0).logits(part).argmax(1) == toy.CUE_CLASS).float().mean() for part in (shown[own], covered)
    )
    assert row.delta_baseline == pytest.approx(float(before - after))
    assert row.ci95 is not None
    assert row.ci95[0] > 0
    alike = relative_rows(toy.model(12.0), toy.model(12.0), shown, labels, audit, "new", "same")
    assert alike[0].sfr_rel == 0.0


def deletion_rows(audit):
    return [row for row in audit.proxies if row.proxy != "replacement"]


def test_deletion_maps_have_the_three_controls(relying):
    rows = deletion_rows(relying[0])
    assert len(rows) == 3 * 2 * toy.CLASSES  # methods, budgets, classes
    for row in rows:
        assert row.controlled == row.n == 20
        assert row.random_masks == RANDOM_MASKS
        low, high = row.random_ci95
        assert low <= row.random <= high
        assert set(row.fillings) == set(FILLINGS)
        assert row.fillings["black"] == pytest.approx(row.delta)
        assert row.beats is not None
    whole = next(  # the other masks leave a part of the patch, which the model needs no more of
        row
        for row in rows
        if row.label == toy.CUE_CLASS and row.budget == 0.05 and row.method == "integrated gradients"
    )
    assert whole.beats.count == 3
    assert whole.nsc <= 0.1
    assert whole.random_ci95[1] < whole.delta
    others = [row.beats.count for row in rows if row.label != toy.CUE_CLASS]
    assert 3 not in others
    assert all(row.beats is None for row in relying[0].proxies if row.proxy == "replacement")


def test_controls_of_proxies_change_no_candidate(monkeypatch):
    shown, labels, _ = toy.images(per_class=16)
    audits = []
    for masks in (RANDOM_MASKS, 2):
        monkeypatch.setattr(proxy_controls, "RANDOM_MASKS", masks)
        audits.append(audit_model(toy.model(12.0), shown, labels, NAMES, everything=True))
    assert audits[0].proxies != audits[1].proxies
    assert (audits[0].findings, audits[0].suspicions) == (audits[1].findings, audits[1].suspicions)


def test_occlusion_goes_from_coarse_to_fine():
    shown, labels, _ = toy.images()
    predicted = PredictedImages.of(toy.model(12.0), shown, labels.numpy())
    coarse = occlusion_maps(predicted, 5, np.random.default_rng(0))
    fine = refined(predicted, coarse, 5, 0.05)
    where = mask_of(toy.CUE_BOX, 1, toy.SIDE, toy.SIDE)
    hit = [
        float((mask_within(one.maps[toy.CUE_CLASS], 16 / toy.SIDE**2) & where).float().sum()) / 16
        for one in (coarse, fine)
    ]
    assert hit[1] > hit[0]
    assert hit[1] >= 0.6
    far = mask_within(coarse.maps[toy.CUE_CLASS], 0.5)[0, 0].logical_not().numpy()
    assert np.array_equal(fine.maps[toy.CUE_CLASS][far], coarse.maps[toy.CUE_CLASS][far])  # only where it matters


def test_no_gradient_leaves_attribution_out():
    shown, labels, _ = toy.images(per_class=16)

    def forward(inputs):
        return toy.forward(inputs.detach(), 12.0)

    audit = audit_model(AuditedModel("frozen", forward), shown, labels, NAMES)
    assert audit.left_out == ("attribution was skipped: no gradient of frozen reaches its input",)
    assert {row.proxy for row in audit.proxies} == {"occlusion", "replacement"}


@pytest.mark.parametrize(
    ("forward", "words"),
    [
        (lambda inputs: torch.full((len(inputs), 4), torch.nan), "NaN or infinite"),
        (lambda inputs: torch.zeros(len(inputs), 3), "has 3 outputs, but the labels go up to 3"),
        (lambda inputs: torch.rand(len(inputs), 4) * 9, "is not deterministic"),
        (lambda inputs: torch.zeros(len(inputs)), "not one row of logits"),
        (lambda inputs: "cat", "gives str"),
    ],
)
def test_models_that_cannot_be_audited_are_refused(forward, words):
    shown, labels, _ = toy.images(per_class=10)
    with pytest.raises(InputError, match=words):
        audit_model(AuditedModel("odd", forward), shown, labels, NAMES)


def test_one_image_without_a_finite_output_is_refused_wherever_it_is():
    shown, labels, _ = toy.images(per_class=10)

    def forward(inputs):
        odd = (inputs - shown[1] / 255).abs().amax(dim=(1, 2, 3)) < 1e-6  # not among those that are shown twice
        return torch.where(odd.view(-1, 1), torch.inf, toy.forward(inputs, 12.0))

    with pytest.raises(InputError, match="NaN or infinite logits for 1 of 40 images"):
        audit_model(AuditedModel("odd", forward), shown, labels, NAMES)


def test_gradients_that_are_not_finite_leave_attribution_out():
    shown, labels, _ = toy.images(per_class=16)

    def forward(inputs):
        odd = (inputs[:, 0].amax(dim=(1, 2)) > 0.9).float()  # the slope of a root is infinite at 0; the value is not
        return toy.forward(inputs, 12.0) + (
            odd * (inputs[:, 0] - inputs[:, 0].detach()).abs().mean(dim=(1, 2))
        ).sqrt().unsqueeze(1)

    audit = audit_model(AuditedModel("steep", forward), shown, labels, NAMES)
    assert audit.left_out
    assert all("steep" in one for one in audit.left_out)
    assert {row.proxy for row in audit.proxies} == {"occlusion", "replacement"}


def test_labels_that_cannot_be_compared_are_refused():
    shown, labels, _ = toy.images(per_class=10)
    with pytest.raises(InputError, match="all images have the same label"):
        audit_model(toy.model(1.0), shown[:10], labels[:10], NAMES)
    with pytest.raises(InputError, match="40 images and 39 labels"):
        audit_model(toy.model(1.0), shown, labels[:-1], NAMES)


def test_too_little_to_tell_is_said():
    shown, labels, _ = toy.images(per_class=7)
    audit = audit_model(toy.model(12.0), shown, labels, NAMES)
    assert audit.cannot_tell is not None
    assert "class 0 has 7 images" in audit.cannot_tell
    assert (audit.findings, audit.suspicions) == ((), ())
    guess = AuditedModel("guess", lambda inputs: torch.eye(4)[torch.zeros(len(inputs), dtype=torch.long)])
    audit = audit_model(guess, *toy.images(per_class=20)[:2], NAMES)
    assert audit.cannot_tell is not None
    assert "25.0%" in audit.cannot_tell


def test_settings_are_checked():
    with pytest.raises(InputError, match="shares of the pixels"):
        AuditSettings(budgets=(0.9,))
    with pytest.raises(InputError, match="unknown proxy 'oclusion'"):
        AuditSettings(proxies=("oclusion",))


def test_the_null_counts_nets():
    null = Null({"fixed": 2.0, "moving": 1.0, "global": 10.0}, tuple(np.linspace(0, 1, 59)))
    assert null.p("fixed", 2.1) == pytest.approx(1 / 60)
    assert null.p("global", 5.0) == pytest.approx((1 + 30) / 60)
    for route in null.scale:
        assert null.p(route, null.threshold(route) * 1.0001) <= ALARM_RATE
        assert null.p(route, null.threshold(route) * 0.97) > ALARM_RATE
    # a new clean net from the same distribution is above the threshold in at most 5 % of cases
    draws = np.random.default_rng(0)
    alarms = []
    for _ in range(2000):
        nets = np.sort(draws.exponential(size=59))
        one = Null({"fixed": 1.0}, tuple(nets))
        alarms.append(one.p("fixed", float(draws.exponential())) <= ALARM_RATE)
    assert np.mean(alarms) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


def test_the_shipped_null_is_of_enough_nets():
    null = null_of_clean_nets()
    assert set(null.scale) == set(ROUTES)
    assert len(null.largest) >= 30
    assert list(null.largest) == sorted(null.largest)


def test_halves_have_every_class():
    labels = np.repeat([3, 5], [9, 8])
    first, second = halves(labels, np.random.default_rng(0))
    assert sorted([*first, *second]) == list(range(17))
    assert np.bincount(labels[first])[[3, 5]].tolist() == [4, 4]
