"""Backgrounds where the object's place is known: a net that reads them, one that reads the object, and the proxy rows of both."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from einstellung.probes.audit import AuditedModel
from einstellung.probes.audit.audit import AuditSettings, audit_model
from einstellung.probes.audit.backgrounds import examine_backgrounds
from einstellung.probes.audit.transplants import PredictedImages

SIDE, OBJECT = 16, slice(5, 11)
SHADES = (60, 120, 180)


def images_of(per_class: int = 16) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Object and background both have the shade of their class."""
    draws = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), per_class)
    pixels = np.array(SHADES)[labels][:, None, None, None] + draws.integers(-20, 21, (len(labels), 3, SIDE, SIDE))
    objects = torch.zeros(len(labels), 1, SIDE, SIDE, dtype=torch.bool)
    objects[..., OBJECT, OBJECT] = True
    return torch.from_numpy(pixels.astype(np.uint8)), torch.from_numpy(labels), objects


def reads(where: str) -> AuditedModel:
    """A net that goes by the mean shade of the object, or of everything around it."""
    inside = torch.zeros(1, 1, SIDE, SIDE)
    inside[..., OBJECT, OBJECT] = 1
    weight = inside if where == "object" else 1 - inside

    def forward(inputs: torch.Tensor) -> torch.Tensor:
        shade = (inputs * weight).sum(dim=(1, 2, 3)) / (3 * weight.sum())
        return -((255 * shade.unsqueeze(1) - torch.tensor(SHADES)) ** 2) / 400

    return AuditedModel(where, forward)


def predicted(where: str, baseline: str | None = None) -> PredictedImages:
    images, labels, objects = images_of()
    second = None if baseline is None else reads(baseline)
    return PredictedImages.of(reads(where), images, labels.numpy(), second, objects)


def test_a_net_that_reads_the_background_is_suspected_and_one_that_reads_the_object_is_not():
    for where, expected in (("background", True), ("object", False)):
        found = examine_backgrounds(predicted(where), np.random.default_rng(0))
        assert [one.beats_random() for one in found] == [expected] * 3
        assert [one.strength > one.threshold for one in found] == [expected] * 3
        assert [one.lost.mean() for one in found] == pytest.approx([1.0 if expected else 0.0] * 3)
        assert [one.same_lost.mean() for one in found] == pytest.approx([0.0] * 3)
        assert found[0].area == pytest.approx(1 - 36 / SIDE**2)


def test_p_of_a_background_is_paired_and_corrected_for_classes():
    from scipy import stats

    one = examine_backgrounds(predicted("background"), np.random.default_rng(0))[1]
    reference = stats.ttest_rel(one.fall, one.same_fall, alternative="greater").pvalue
    assert one.p == pytest.approx(min(1.0, 3 * reference))


def test_without_the_places_of_objects_no_background_is_examined():
    images, labels, _ = images_of()
    assert (
        examine_backgrounds(PredictedImages.of(reads("object"), images, labels.numpy()), np.random.default_rng(0)) == []
    )


@pytest.fixture(scope="module")
def audited():
    images, labels, objects = images_of()
    names = dict(enumerate("abc"))
    settings = AuditSettings(proxies=("replacement",))
    return audit_model(reads("background"), images, labels, names, settings, baseline=reads("object"), objects=objects)


def test_the_audit_reports_the_background(audited):
    found = [one for one in (*audited.findings, *audited.suspicions) if one.component == "background"]
    assert {one.name for one in found} == set("abc")
    assert all(one.kind == "global" and one.delta == 1.0 and one.random == 0.0 for one in found)


def test_every_replacement_has_area_and_the_relative_index(audited):
    rows = {(row.method, row.label): row for row in audited.proxies}
    other, same = (rows[f"background of {which} class", 0] for which in ("another", "the same"))
    assert (other.delta, other.delta_baseline, other.sfr_rel) == (1.0, 0.0, 1.0)
    assert (same.delta, same.sfr_rel) == (0.0, 0.0)
    assert other.area == pytest.approx(1 - 36 / SIDE**2)
    methods = {method for method, _ in rows}
    assert {"window of another class", "the same window inpainted", "colour channels permuted"} <= methods
    assert all(0 < row.area <= 1 and row.sfr_rel is not None for row in audited.proxies)
    frame = next(row for row in audited.proxies if row.method.startswith("frame of a sixteenth"))
    assert frame.area == pytest.approx(1 - 14**2 / 16**2)
