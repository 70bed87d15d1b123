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
    expected = {"one": 10, "two": 20.4, "three": 5}
    progress = StageProgress(model, expected, lambda done, total: calls.append((done, total)))

    def evaluate(count):
        model.probabilities(torch.zeros(count, 3, 2, 2, dtype=torch.uint8))

    progress.begin("one")
    evaluate(25)
    progress.begin("two", parts=2)
    progress.begin_part(0)
    evaluate(4)
    progress.begin_part(1)
    evaluate(70)  # batches of 64 and 6
    progress.begin("three")
    model.passed(9)
    progress.finish()
    evaluate(3)  # after the audit
    done = [0, 10, 10, 10, 14, 20, 30, 30, 30, 34, 35]
    assert calls == [(one, 35) for one in done]


@pytest.mark.parametrize("proxies", [(), ("occlusion", "attribution", "replacement")])
def test_an_audit_reports_how_far_it_is(proxies):
    images, labels, objects = images_of()
    calls: list[tuple[int, int, float]] = []
    model = reads("background")
    audit_model(
        model, images, labels, dict(enumerate("abc")), AuditSettings(proxies=proxies),
        lambda done, total: calls.append((done, total, model.passes)), objects=objects,
    )  # fmt: skip
    (total,) = {total for _, total, _ in calls}
    done = [one for one, _, _ in calls]
    assert all(first <= second for first, second in itertools.pairwise(done))
    assert done.count(total) == 1  # at the end, and only there
    assert done[-1] == total
    begin, end = calls[0][2], model.passes
    off = max(abs(one / total - (passes - begin) / (end - begin)) for one, _, passes in calls)
    assert off < 0.2  # of the audit; its small stages are estimates for more classes and images
