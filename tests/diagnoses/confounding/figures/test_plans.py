"""Which figures there are, with which captions, and why one is not drawn."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.confounding.figures.plans import plan_figures
from einstellung.diagnoses.confounding.score import score_tasks
from einstellung.timeline import Timeline
from tests.diagnoses.confounding.confounded import study, three_tasks


def planned(timeline, card):
    return {plan.name: plan for plan in plan_figures(timeline, card, None)}


def test_captions_say_what_was_measured(written):
    plans = planned(written.timeline, written.card)
    assert list(plans) == ["unconfounded", "matrices", "learning", "twins", "samples"]
    assert "mean of positives (750 images) and negatives (750 images)" in plans["unconfounded"].caption
    assert "No ceiling is known, so the verdict compares with the open markers." in plans["unconfounded"].caption
    assert "(600 images per panel)" in plans["twins"].caption
    assert plans["samples"].why == "these results have no stored sample images"


@pytest.mark.parametrize("gone", ["unconfounded_", "T2_negative"])
def test_what_was_not_measured_is_not_drawn(gone):
    frame = study(three_tasks()).frame
    timeline = Timeline(frame[~frame["split"].str.startswith(gone)].reset_index(drop=True))
    why = planned(timeline, score_tasks(timeline))["unconfounded"].why
    assert (why is None) == (gone != "unconfounded_")
