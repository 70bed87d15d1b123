"""The zoo's bookkeeping: what is painted, what counts as found, and the null of clean nets."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import binomtest

from benchmarks.audit import accused, backgrounds, pictures
from benchmarks.audit.cues import KINDS
from benchmarks.audit.images_alone import alarms_of
from benchmarks.audit.intervals import exact, shown
from benchmarks.audit.judging import TrueCue, located, null_of, route_of
from benchmarks.audit.nets import CONV, RESNET, fresh_net
from benchmarks.audit.peers import captum_points
from benchmarks.audit.rows import alarm_rows, suspicion_rows
from benchmarks.audit.zoo import CUE_CLASS, Member, classes_of, members, truth
from einstellung.composites.build import CompositeSpec, build_composites, find_sources
from einstellung.probes.audit import AuditedModel
from einstellung.results.audit_files import BearingImage, Beats, Finding, ModelAudit
from einstellung.streams.composites.table import CompositeTable
from einstellung.streams.shapes import OUTLINES


def finding(strength: float, *, beats: bool = True, box=(0, 0, 4, 4), images=()) -> Finding:
    return Finding(
        label=6,
        name="6",
        kind="localised",
        box=box,
        area=0.02,
        delta=0.5,
        ci95=(0.3, 0.7),
        found_by=("replacement",),
        beats=Beats(nsc=beats, random=True, fillings=True),
        images=images,
        pull=0.5,
        pull_null=0.1,
        strength=strength,
        threshold=3.0,
        p=0.01,
        fillings={},
        nsc=0.0,
        random=0.0,
        construction="a box",
    )


def audit(*found: Finding) -> ModelAudit:
    return ModelAudit(findings=found, suspicions=(), accuracy=0.9, per_class={}, images_evaluated=0, seconds=0.0)


@pytest.mark.parametrize(("count", "of"), [(0, 50), (3, 72), (72, 72)])
def test_exact_intervals(count, of):
    reference = binomtest(count, of).proportion_ci(method="exact")
    assert exact(count, of) == pytest.approx((reference.low, reference.high))


def test_only_candidates_that_beat_all_controls_make_the_null():
    clean = [audit(finding(float(net)), finding(99.0, beats=False)) for net in range(1, 31)]
    null = null_of(clean)
    scale = float(np.quantile(np.arange(1, 31), 0.9))
    assert null.scale["fixed"] == pytest.approx(scale, abs=1e-4)
    assert null.largest[-1] == pytest.approx(30 / scale, abs=1e-4)
    assert null.scale["moving"] == 1.0  # no candidate at all


def test_a_box_that_the_images_suggest_has_a_null_of_its_own():
    plain = finding(3.0)
    assert route_of(plain) == "fixed"
    assert route_of(plain.model_copy(update={"found_by": ("data", "replacement")})) == "recurring"
    assert route_of(plain.model_copy(update={"box": None, "moves": True})) == "moving"


def test_places_and_rankings_by_hand():
    bears = np.array([True, False, True])
    cue = TrueCue(0.5, (0.3, 0.7), bears, {0: (0, 0, 4, 4), 2: (0, 0, 4, 4)})
    images = tuple(BearingImage(index=index, score=0.0, box=(0, 0, 4, 2)) for index in (0, 1, 2))
    where = located(finding(5.0, box=(0, 0, 4, 2), images=images), cue)
    assert where.pointing == 1.0
    assert where.iou == pytest.approx(0.5)
    assert where.average_precision == pytest.approx((1 + 2 / 3) / 2)
    away = tuple(BearingImage(index=index, score=0.0, box=(20, 20, 4, 4)) for index in (0, 1, 2))
    assert located(finding(5.0, box=(20, 20, 4, 4), images=away), cue).pointing == 0.0


def test_the_zoo_has_what_it_says():
    every = members()
    assert len({one.name for one in every}) == len(every)
    assert len({one.seed for one in every if one.kind}) == sum(one.kind is not None for one in every)
    assert sum(one.kind is None for one in every) == 91
    assert sum(one.kind is None and one.net == RESNET for one in every) == 3
    assert {one.kind for one in every if one.kind} == set(KINDS)
    for kind in KINDS:
        assert {one.share for one in every if one.kind == kind} == {0.2, 0.5, 0.8, 1.0}


def test_the_class_of_the_cue_has_a_twin():
    pairs = {frozenset(classes_of(Member("shapes", None, 0.0, seed))[CUE_CLASS:]) for seed in range(1, 40)}
    outlines = list(OUTLINES)
    assert {frozenset(outlines[place] for place in pair) for pair in pairs} == {
        frozenset(pair) for pair in (("ring", "disc"), ("saltire", "cross"), ("square", "frame"), ("lens", "disc"))
    }
    for seed in range(1, 40):
        assert len(set(classes_of(Member("shapes", None, 0.0, seed)))) == 8


@pytest.mark.parametrize("name", [CONV, RESNET])
def test_nets_start_from_their_seed(name):
    images = torch.zeros(2, 3, 32, 32)
    one, same, other = (fresh_net(name, 8, seed).eval() for seed in (1, 1, 2))
    assert torch.equal(one(images), same(images))
    assert one(images).shape == (2, 8)
    assert not torch.equal(next(one.parameters()), next(other.parameters()))


def test_alarms_are_counted_by_kind_of_net():
    alarms = {
        Member("shapes", None, 0.0, 1): True,
        Member("shapes", None, 0.0, 2): False,
        Member("shapes", None, 0.0, 3, net=RESNET): False,
    }
    measured = [one["measured"] for one in alarm_rows(alarms, [False, True])]
    assert measured == [shown(2, 5), shown(1, 2), shown(0, 1), shown(1, 2)]
    suspected = suspicion_rows(alarms, [True, True])
    assert [one["measured"] for one in suspected] == [shown(3, 5), shown(1, 2), shown(0, 1), shown(2, 2)]


def test_a_clean_net_is_judged_by_the_others_and_suspected_by_what_beats_some_controls():
    null = null_of([audit(finding(float(net))) for net in range(1, 60)])
    strong = 100.0
    assert accused(audit(finding(strong)), null) == (True, False)
    assert accused(audit(finding(strong, beats=False)), null) == (False, True)
    assert accused(audit(finding(1.0), finding(1.0, beats=False)), null) == (False, False)


def test_captums_methods_as_they_come_point_at_the_pixel_that_decides():
    def forward(inputs):
        return torch.stack([torch.zeros(len(inputs)), inputs[:, :, 10, 11].sum(dim=1) ** 2], dim=1)

    model = AuditedModel("one pixel", forward, lambda images: images.float() / 255)
    images = torch.randint(60, 255, (3, 3, 21, 21), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    occluded, attributed = captum_points(model, images, 1)
    assert attributed == occluded == [(10, 11)] * 3


def test_the_images_alone_show_a_fixed_patch():
    assert alarms_of(Member("shapes", "patch", 1.0, 3)) == {CUE_CLASS}
    assert alarms_of(Member("shapes", None, 0.0, 3)) == set()


def test_a_scene_behind_animals_is_swapped_and_nothing_else(monkeypatch):
    procedural = CompositeSpec(32, ((0.5, 0.5),), {"train": 20, "val": 4, "test": 20}, False, 0)
    table = CompositeTable(build_composites(find_sources("procedural", None, procedural, ()), procedural))
    monkeypatch.setattr(pictures, "composites", lambda draw: table)
    cued = pictures.pictures_of(pictures.Pictured(pictures.BACKGROUND, 1, 1.0))
    assert cued.twins is not None
    own = cued.audit[0][cued.audit[1] == pictures.CUE_CLASS]
    assert torch.equal(cued.twins.images, own)  # every image of the class has the common scene
    changed = (cued.twins.images != cued.twins.without).any(dim=1).float().mean()
    assert 0.3 < changed < 0.95  # the animal stays
    assert pictures.pictures_of(pictures.Pictured(pictures.BACKGROUND, 1, 0.5)).twins is None


def test_a_cue_is_where_the_truth_says():
    known = truth(Member("shapes", "patch", 0.5, 3))
    clean = truth(Member("shapes", None, 0.0, 3))
    changed = (known.images != clean.images).any(dim=1, keepdim=True)
    assert torch.equal(changed & known.regions[0], changed)
    assert bool((known.bears[0] <= (known.labels == known.cue_class)).all())
    assert 0.3 < known.bears[0][known.labels == known.cue_class].float().mean() < 0.7
    assert bool((known.covered[0] == torch.where(known.regions[0], 0, known.images)).all())


def test_objects_of_the_audit_are_the_animals_and_not_the_scenes(monkeypatch):
    procedural = CompositeSpec(32, ((0.5, 0.5),), {"train": 20, "val": 4, "test": 20}, False, 0)
    table = CompositeTable(build_composites(find_sources("procedural", None, procedural, ()), procedural))
    for module in (pictures, backgrounds):
        monkeypatch.setattr(module, "composites", lambda draw: table)
    monkeypatch.setattr(backgrounds, "_objects", backgrounds._objects.__wrapped__)
    objects = backgrounds._objects(0)
    assert objects.shape == (len(table.rows("test")), 1, 32, 32)
    masks = torch.from_numpy(table.layers.target_masks(table.parts.take(table.rows("test")))).reshape(objects.shape)
    assert not (masks & ~objects).any()  # nothing of an animal is outside of its box
    assert bool((objects.flatten(1).float().mean(dim=1) < 0.5).all())


def test_the_background_test_is_counted_over_nets_that_can_be_judged():
    def one(share, suspected, delta=None, used=False, can_tell=True):
        member = pictures.Pictured(pictures.BACKGROUND, 1, share)
        return backgrounds.Outcome(member, can_tell, frozenset(suspected), delta, used)

    clean = [one(0.5, [0]), one(0.5, []), one(0.5, [0, 1], can_tell=False), *[one(0.5, [])] * 18]
    cued = [one(0.8, [1], 0.3, True), one(0.8, [0], 0.2, True), one(0.8, [], 0.01, False), one(1.0, [1], 0.4, True)]
    first, *others = backgrounds.summary([*clean, *cued])
    assert first["measured"] == f"{shown(1, 20)}; cannot tell: 1 of all 25 nets"
    assert first["reached"] is True
    assert [row["measured"] for row in others] == [
        f"{shown(1, 2)} of the nets that use it (worth 1 to 30 points)",
        f"{shown(1, 1)} of the nets that use it (worth 40 to 40 points)",
    ]
    assert backgrounds.summary([one(0.5, [0]), one(0.5, [])])[0]["reached"] is False


def test_a_suspected_background_is_unlikely_and_beats_a_control():
    one = finding(5.0).model_copy(update={"kind": "global", "box": None, "component": "background", "p": 0.01})
    assert backgrounds.suspected(audit(one)) == {6}
    assert backgrounds.suspected(audit(one.model_copy(update={"p": 0.06}))) == set()
    assert backgrounds.suspected(audit(one.model_copy(update={"component": "colour"}))) == set()
