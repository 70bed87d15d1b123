"""Timelines that are valid and odd: splits, seeds and phases missing, single rows, epochs between the whole ones."""

from __future__ import annotations

import io
import json
import warnings

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.reporting import Scored, write_report
from einstellung.diagnoses.rigidity.diagnosis import Rigidity
from einstellung.diagnoses.rigidity.score import score
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from einstellung.report.figures import plan
from einstellung.report.figures.canvas import settle
from einstellung.report.terminal import print_overview
from einstellung.timeline import SC_MASK, SC_PATCH, Timeline

SPLITS = (SC_PATCH, SC_MASK, "T2_nonshortcut_normal", "T1_all", "T2_val", "another")
GRIDS = ([0.0], [1.0], [0.0, 1.0, 2.0, 3.0], [0.5, 1.0, 1.5], [0.0, 1 / 3], [50.0])


@st.composite
def odd_timelines(draw):
    rows = []
    task = draw(st.booleans())
    runs = st.tuples(
        st.sampled_from(["scratch_t2", "sgd", "a_$b$"]), st.integers(1, 3), st.sampled_from(["T1", "T2", "T3"])
    )
    for method, seed, phase in draw(st.lists(runs, min_size=1, max_size=8, unique=True)):
        for split in draw(st.lists(st.sampled_from(SPLITS), min_size=1, max_size=6, unique=True)):
            for epoch in draw(st.sampled_from(GRIDS)):
                acc = draw(st.sampled_from([0.0, 0.3, 0.6, 1.0]))
                key = {"method": method, "seed": seed, "phase": phase, "epoch": epoch, "split": split}
                rows.append({**key, "acc": acc, "loss": None, "n": None} | ({"acc_task": acc} if task else {}))
    return Timeline(pd.DataFrame(rows))


@settings(max_examples=40, deadline=None)
@given(odd_timelines(), st.sampled_from(["trailing", "centred", "none"]))
def test_every_valid_timeline_is_scored_and_printed(timeline, smoothing):
    choice = RigiditySettings(smoothing=smoothing)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        card = score(timeline, choice)
        assert json.loads(json.dumps(card.to_json(), allow_nan=False)) == card.to_json()
        print_overview(Console(file=io.StringIO()), Rigidity().overview(card), card.checks, card.warnings)


@settings(max_examples=8, deadline=None)
@given(odd_timelines())
def test_every_valid_timeline_has_a_page(tmp_path_factory, timeline):
    def look(figure, folder, name):
        settle(figure)
        return {"svg": b"<svg/>"}

    save, plan.save = plan.save, look
    try:
        scored = Scored(Rigidity(), Evidence(timeline), score(timeline))
        page = write_report(tmp_path_factory.getbasetemp() / "odd", scored)
    finally:
        plan.save = save
    assert page.stat().st_size > 0
