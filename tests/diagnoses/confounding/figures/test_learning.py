"""Learning curves: phases after each other, seeds at common moments."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.confounding.figures.learning import draw_learning, phase_parts
from einstellung.report.figures.canvas import drawing
from einstellung.timeline import Timeline
from tests.diagnoses.confounding.confounded import study, three_tasks

from . import texts_of

TASKS = ["T1", "T2", "T3"]


def test_learning_curves_go_on_from_phase_to_phase(written):
    parts = phase_parts(written.timeline, "cumulative", TASKS)
    assert [(part.phase, part.start, part.end) for part in parts] == [("T1", 0, 4), ("T2", 4, 8), ("T3", 8, 12)]
    last = parts[-1]
    assert last.curves["unconfounded"].epochs.tolist() == [8, 9, 10, 11, 12]
    assert last.curves["unconfounded"].mean[-1] == pytest.approx(0.72)
    assert last.curves["train"].mean[-1] == pytest.approx(0.90)
    assert last.average == pytest.approx((0.86 + 0.9 + 0.89) / 3)
    (joint,) = phase_parts(written.timeline, "joint", TASKS)
    assert joint.average == pytest.approx((0.98 + 0.99 + 0.99) / 3, abs=0.003)
    with drawing():
        figure = draw_learning(written.timeline, written.card)
    assert figure.axes[0].get_title(loc="left") == "cumulative"
    assert "all tasks at once" in texts_of(figure)


def test_seeds_that_count_a_few_images_more_share_their_moments():
    """A random buffer holds another number of a phase's own images for every seed: the k-th looks belong together."""
    frame = study(three_tasks(), seeds=(1, 2), spread=0.01).frame
    frame["epoch"] = frame["epoch"].where(frame["seed"] == 1, frame["epoch"] * 0.9)
    parts = phase_parts(Timeline(frame), "naive", TASKS)
    assert [part.end for part in parts] == pytest.approx([3.8, 7.6, 11.4])
    assert parts[0].curves["test"].epochs == pytest.approx([0, 0.95, 1.9, 2.85, 3.8])
    assert parts[0].curves["test"].n == 2
    assert all(part.average is not None for part in parts)
