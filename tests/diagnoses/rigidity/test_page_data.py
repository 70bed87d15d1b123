"""What the page's scripts read: strict JSON, every curve of phase 2, and a command that scores the same runs."""

from __future__ import annotations

import json

from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.rigidity.diagnosis import Rigidity
from einstellung.diagnoses.rigidity.page_data import has_curves, page_data
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from einstellung.timeline import SC_MASK, Timeline
from tests.report.html_reader import HtmlReader

from .hand_made import timeline_frame


def test_the_data_of_a_page_are_what_it_was_made_from(written):
    data = HtmlReader(written.html).data
    assert data == json.loads(
        json.dumps({**data, **page_data(written.evidence, written.card.baseline_first())}, allow_nan=False)
    )
    assert data["payload"]["card"]["methods"].keys() == written.card.methods.keys()
    assert data["command"][:3] == ["einstellung", "score", "timeline.csv"]
    assert data["command"][3:] == ["--classes", "36"]


def test_curves_stand_in_the_order_of_the_runs(written):
    curves = page_data(written.evidence, written.card)["curves"]["SC_mask"]
    for run, curve in zip(written.evidence.timeline.runs, curves, strict=True):
        stored = written.evidence.timeline.curve(*run, "T2", SC_MASK)
        assert curve[0] == list(stored[0])
        assert max(abs(one - other) for one, other in zip(curve[1], stored[1], strict=True)) < 1e-6


def test_a_setting_that_is_not_the_default_is_part_of_the_command(written):
    evidence = Evidence(Timeline(timeline_frame()), source="'my logs' --seeds 42")
    card = Rigidity().score(evidence, RigiditySettings(tau_grid="0.2,0.4", classes=10))
    command = page_data(evidence, card)["command"]
    assert command == ["einstellung", "score", "'my logs' --seeds 42", "--tau-grid", "0.2,0.4", "--classes", "10"]


def test_a_log_without_phase_two_has_no_curves():
    frame = timeline_frame()
    assert has_curves(Evidence(Timeline(frame)))
    assert not has_curves(Evidence(Timeline(frame[frame["phase"] == "T1"])))
