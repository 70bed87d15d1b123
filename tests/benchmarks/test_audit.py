"""The zoo's bookkeeping: what is painted, what counts as found, and the null of clean nets."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import binomtest

from benchmarks.audit import exact
from benchmarks.audit.cues import KINDS
from benchmarks.audit.judging import TrueCue, located, null_of
from benchmarks.audit.zoo import Member, members, truth
from einstellung.results.audit_files import BearingImage, Beats, Finding, ModelAudit


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
    return ModelAudit(findings=found, suspicions=(), accuracy=0.9, per_class={}, looks=0, seconds=0.0)


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
    assert null.scale["moving"] == 0.5  # no candidate at all


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
    assert sum(one.kind is None for one in every) == 72
    assert {one.kind for one in every if one.kind} == set(KINDS)


def test_a_cue_is_where_the_truth_says():
    known = truth(Member("shapes", "patch", 0.5, 3))
    clean = truth(Member("shapes", None, 0.0, 3))
    changed = (known.images != clean.images).any(dim=1, keepdim=True)
    assert torch.equal(changed & known.regions[0], changed)
    assert bool((known.bears[0] <= (known.labels == known.cue_class)).all())
    assert 0.3 < known.bears[0][known.labels == known.cue_class].float().mean() < 0.7
    assert bool((known.covered[0] == torch.where(known.regions[0], 0, known.images)).all())
