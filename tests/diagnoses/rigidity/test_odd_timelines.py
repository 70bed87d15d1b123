"""Timelines that are valid and odd: splits, seeds and phases missing, single rows, epochs between the whole ones."""

from __future__ import annotations

import io
import json
import warnings

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from einstellung.diagnoses.rigidity.figures import catalogue
from einstellung.diagnoses.rigidity.score import ScoreSettings, score
from einstellung.guide.score import guide_score
from einstellung.report import render_terminal, write_report
from einstellung.report.figures.canvas import settle
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
    choice = ScoreSettings(smoothing=smoothing)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for card in (score(timeline, choice).to_dict(), guide_score(timeline, choice).to_dict()):
            assert json.loads(json.dumps(card, allow_nan=False)) == card
            render_terminal(card, Console(file=io.StringIO()))


@settings(max_examples=8, deadline=None)
@given(odd_timelines())
def test_every_valid_timeline_has_a_page(tmp_path_factory, timeline):
    def look(figure, folder, name):
        settle(figure)
        return {"svg": b"<svg/>"}

    save, catalogue.save = catalogue.save, look
    try:
        page = write_report(tmp_path_factory.getbasetemp() / "odd", timeline, score(timeline).to_dict())
    finally:
        catalogue.save = save
    assert page.stat().st_size > 0
