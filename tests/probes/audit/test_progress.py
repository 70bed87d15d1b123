"""Progress of an audit: it only grows, comes near its end before the end, and ends once."""

from __future__ import annotations

import itertools

import pytest
import torch

from einstellung.probes.audit import AuditedModel, AuditSettings, audit_model
from einstellung.probes.audit.progress import StageProgress
from tests.probes.audit.test_backgrounds import images_of, reads


def linear() -> AuditedModel:
    return AuditedModel("linear", torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2)))


def test_a_stage_counts_for_no_more_than_expected_and_what_it_saved_is_skipped():
    calls, model = [], linear()
    progress = StageProgress(
        model, {"one": 10, "two": 20.4, "three": 5}, lambda done, total: calls.append((done, total))
    )
    progress.begin("one")
    model.probabilities(torch.zeros(25, 3, 2, 2, dtype=torch.uint8))
    progress.update()
    progress.begin("two")
    model.probabilities(torch.zeros(4, 3, 2, 2, dtype=torch.uint8))
    progress.update()
    progress.step(1, 2)
    progress.begin("three")
    model.probabilities(torch.zeros(9, 3, 2, 2, dtype=torch.uint8))
    progress.update()
    progress.finish()
    assert calls == [(0, 35), (10, 35), (10, 35), (14, 35), (20, 35), (30, 35), (34, 35), (35, 35)]


@pytest.mark.parametrize("proxies", [(), ("occlusion", "attribution", "replacement")])
def test_an_audit_reports_how_far_it_is(proxies):
    images, labels, objects = images_of()
    calls: list[tuple[int, int]] = []
    audit_model(
        reads("background"), images, labels, dict(enumerate("abc")), AuditSettings(proxies=proxies),
        lambda done, total: calls.append((done, total)), objects=objects,
    )  # fmt: skip
    assert len({total for _, total in calls}) == 1
    done = [one for one, _ in calls]
    assert all(first <= second for first, second in itertools.pairwise(done))
    assert done.count(calls[0][1]) == 1  # at the end, and only there
    assert done[-1] == calls[0][1]
    stuck = max(len(list(same)) for _, same in itertools.groupby(done))
    assert stuck <= 3  # where one stage ends and the next begins
