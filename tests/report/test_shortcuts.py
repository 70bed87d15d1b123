"""The report of several shortcuts: its page, tables and figures; of results folders and of log files."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from einstellung.report.study import report_study
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Annotation, Text
from rich.console import Console

from einstellung.cli import main
from einstellung.diagnoses.shortcuts.answer import shortcut_answer
from einstellung.diagnoses.shortcuts.figures.marks import GAP_MARKS, METHOD_MARKS
from einstellung.diagnoses.shortcuts.figures.plane import draw_plane
from einstellung.diagnoses.shortcuts.figures.rows import draw_gap_rows
from einstellung.diagnoses.shortcuts.published import TABLE_3, protocol_differences, reported_for, with_reported
from einstellung.diagnoses.shortcuts.score import shortcut_score
from einstellung.diagnoses.shortcuts.splits import patterns_of
from einstellung.diagnoses.shortcuts.tables import shortcut_tables
from einstellung.files import write_bytes, write_json
from einstellung.report import render_terminal, write_shortcut_report
from einstellung.report.figures import shortcuts as catalogue
from einstellung.report.figures.canvas import drawing, render, settle
from einstellung.report.figures.placing import Box, place_labels
from einstellung.results.config import build_config
from einstellung.results.folder import ResultsFolder
from einstellung.timeline import Timeline
from tests.metrics.several import PAPERLIKE, groups, predictions_of, rows_of, study, timeline_of, two_cues

from .test_page import Reader

CUES = ("background", "co-object")
TWINS = {f"{cue}_{kind}": acc for cue in CUES for kind, acc in (("common", 0.9), ("swapped", 0.4), ("covered", 0.6))}
PROOF = {
    "stream": "composites",
    "facts": {"protocol": "several shortcuts", "cues": list(CUES), "correlations": {"T1": [0.95, 0.95]}},
    "checks": [{"name": "sources are disjoint", "passed": True, "detail": "3 splits"}],
}
SWITCH = {"T1": (0.95, 0.5), "T2": (0.5, 0.95)}
MOVED = {
    "erm": {"T1": two_cues(0.95, 0.95, 0.55, 0.55), "T2": two_cues(0.95, 0.65, 0.8, 0.5)},
    "scratch": {"T1": two_cues(0.95, 0.95, 0.55, 0.55), "T2": two_cues(0.95, 0.6, 0.95, 0.6)},
    "er+lle": {"T1": two_cues(0.95, 0.95, 0.85, 0.85), "T2": two_cues(0.95, 0.9, 0.94, 0.9)},
}


@dataclass(frozen=True)
class Written:
    """A report on disk and what it was made from."""

    folder: Path
    timeline: Timeline
    card: dict[str, Any]
    html: str


def save_as_svg(figure, folder, name):
    """All formats hold the same; one takes a third of the time."""
    settle(figure)
    content = render(figure, "svg")
    write_bytes(folder / f"{name}.svg", content)
    return {"svg": content}


def write_samples(path: Path) -> Path:
    names = [f"group_{label}_{pattern}" for label in "01" for pattern in ("11", "10", "01", "00")] + list(TWINS)
    np.savez(path, **{name: np.full((8, 8, 8, 3), 9 * place, dtype=np.uint8) for place, name in enumerate(names)})
    return path


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Written:
    folder = tmp_path_factory.mktemp("several")
    timeline = study(PAPERLIKE, spread=0.004, extra=TWINS)
    card = with_reported(
        shortcut_score(timeline, cues=CUES, correlations=(0.95, 0.95)), {"training": {"batch_size": 64}}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "save", save_as_svg)
        page = write_shortcut_report(
            folder,
            timeline,
            card,
            proof=PROOF,
            provenance={"command": "einstellung run"},
            configuration="name: <several>\n",
            samples=write_samples(folder / "samples.npz"),
            title="A & B <several>",
        )
    return Written(folder, timeline, card, page.read_text(encoding="utf-8"))


@pytest.fixture
def quick(monkeypatch):
    """Figures are not what is looked at here."""
    monkeypatch.setattr(catalogue, "_plans", lambda *inputs: {})


def table_of(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_page_is_whole_and_answers_first(written):
    page = Reader(written.html)
    assert len(set(page.ids)) == len(page.ids)
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert all(load.startswith("data:") for load in page.loads)
    words = page.text
    assert words.index("Whac-A-Mole in 1 of the 2 methods beside erm: cutmix (co-object down, background up).") < 600
    for expected in (
        "A & B <several>",
        "50 a group, 400 in all",
        "sources are disjoint",
        "name: <several>",
        "3 seeds a method",
    ):
        assert expected in words
    assert {"plane", "gaps", "samples", "twins"} <= set(page.ids)
    assert "Gaps from phase to phase (there is one phase only)" in words


def test_the_score_is_strict_json_and_the_same_again(written):
    stored = json.loads((written.folder / "score.json").read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(written.card, allow_nan=False))
    assert stored["kind"] == "shortcuts"


def test_table_3_marks_amplification_without_colour_and_shows_what_is_reported(written):
    text = (written.folder / "tables" / "table3.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| cutmix")]
    # ID = .9025 + .0475 (.95 + .52) + .0025 .1 = .9726, of erm .9835: gaps .52 - .9726 = -.4526 and .82 - .9835 = -.1635
    assert "−45.3 (↑×2.77)" in lines[0]
    assert "−45.0 (×2.94)" in lines[1]
    assert "UrbanCars" in text
    assert "training.batch_size 64 (paper: 128)" in text
    assert r"($\uparrow$$\times$2.77)" in (written.folder / "tables" / "table3.tex").read_text(encoding="utf-8")
    rows = {(row["method"], row["source"]): row for row in table_of(written.folder, "table3")}
    measured = written.card["methods"]["cutmix"]["phases"]["T1"]["own"]
    assert float(rows["cutmix", "measured"]["background gap"]) == measured["gaps"]["background"]["mean"]
    assert float(rows["cutmix", "reported"]["background gap"]) == -0.45
    assert ("er+lle", "reported") not in rows
    assert 'class="worse">−45.3' in written.html


def test_every_number_of_the_verdicts_is_in_a_table(written):
    rows = {(row["method"], row["gap"]): row for row in table_of(written.folder, "verdicts")}
    found = written.card["methods"]["cutmix"]["phases"]["T1"]["own"]
    row = rows["cutmix", "background"]
    assert float(row["difference"]) == found["difference"]["background"]["mean"]
    assert float(row["amplification_low95"]) == found["amplification"]["background"]["ci95"][0]
    assert row["verdict"] == "amplified (Whac-A-Mole)"
    assert rows["erm", "background"]["amplification"] == ""
    groups_table = table_of(written.folder, "groups")
    assert float(groups_table[0]["group_1_00"]) == pytest.approx(0.28)
    assert float(table_of(written.folder, "preference")[0]["background"]) == pytest.approx(
        (1 + 0.87 + (1 - 0.82) + (1 - 0.28)) / 4
    )
    assert float(table_of(written.folder, "reliance")[0]["delta_swapped"]) == pytest.approx(0.5)


def texts_of(figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def test_the_plane_names_every_method_and_its_corners_and_lines_are_at_the_baselines_gaps(written):
    with drawing():
        figure = draw_plane(written.card)
    (axes,) = figure.axes
    names = [label.get_text() for label in axes.findobj(Annotation)]
    assert sorted(names) == ["cutmix", "erm", "lle"]
    assert "Whac-A-Mole: BG smaller, CoObj larger" in texts_of(figure)
    gap = 100 * written.card["methods"]["erm"]["phases"]["T1"]["own"]["gaps"]["background"]["mean"]
    crossing = [
        line for line in axes.lines if list(line.get_xdata()) == [gap, gap] and list(line.get_ydata()) == [0, 1]
    ]
    assert len(crossing) == 1


def test_marks_differ_without_colour():
    for marks in (METHOD_MARKS, {name: mark for name, mark in GAP_MARKS.items() if name != "cured"}):
        shapes = [(mark.marker, mark.filled) for mark in marks.values()]
        assert len(set(shapes)) >= len(shapes) - 1  # the two stars, baseline and fresh net, are never judged


def test_names_of_22_methods_in_a_crowd_hide_nothing():
    rng = np.random.default_rng(5)
    points = [tuple(point) for point in rng.normal((200, 150), (45, 35), (22, 2))]
    frame = Box(0, 0, 430, 300)
    boxes = place_labels(points, [(38.0, 8.5)] * 22, frame)
    hidden = sum(one.shared(other) for place, one in enumerate(boxes) for other in boxes[:place])
    marks = [Box(x - 3, y - 3, x + 3, y + 3) for x, y in points]
    covered = sum(box.shared(mark) for box in boxes for mark in marks)
    assert hidden == 0
    assert covered < 30  # of 22 marks with 36 square points each
    assert all(box.outside(frame) == 0 for box in boxes)


def test_rows_hold_every_gap_of_three_cues():
    patterns = {pattern: 0.9 - 0.1 * pattern.count("0") for pattern in patterns_of(3)}
    card = shortcut_score(study({"erm": {"T1": patterns}}), cues=("a", "b", "c"), correlations=(0.9, 0.9, 0.9))
    with drawing():
        figure = draw_gap_rows(card)
        plane = draw_plane(card)
    titles = [axes.get_title(loc="left") for axes in figure.axes if axes.get_visible()]
    assert titles == ["a gap", "b gap", "c gap", "a+b gap", "a+c gap", "b+c gap", "a+b+c gap"]
    assert len(plane.axes) == 3


def test_a_study_of_two_phases_shows_carry_over_trade_and_history(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "save", save_as_svg)
    timeline = study(MOVED, spread=0.004, epochs=(0.0, 2.0, 4.0))
    card = shortcut_score(timeline, cues=CUES, correlations=SWITCH)
    page = Reader(write_shortcut_report(tmp_path, timeline, card).read_text(encoding="utf-8"))
    words = page.text
    assert "Carry-over: the background gap of T1 is still there after T2 in erm" in words
    assert "phases" in page.ids
    left = [row for row in table_of(tmp_path, "carry_over") if row["method"] == "erm" and row["weights"] == "common"]
    assert float(left[0]["gap"]) == pytest.approx(-0.15)
    assert float(left[0]["share"]) == pytest.approx(0.375)
    trades = {(row["method"], row["move"], row["pair"]): row for row in table_of(tmp_path, "trade")}
    assert float(trades["erm", "T1 to T2", "background -> co-object"]["T"]) == pytest.approx(0.25)
    assert "trade" in (tmp_path / "tables" / "trade.md").read_text(encoding="utf-8")
    assert [row["method"] for row in table_of(tmp_path, "history")] == ["erm", "er+lle"]
    assert card["methods"]["er+lle"]["phases"]["T2"]["facets"]["AD"]["mean"] is not None
    assert with_reported(card)["reported"]["methods"] == {}  # a stream of phases is no published setting


def test_the_papers_table_is_as_printed():
    assert len(TABLE_3) == 14
    printed_factors = {"cutmix": 2.94, "cutout": 1.03, "jtt(E=2)": 1.52, "eiil(E=2)": 1.40}
    for method, factor in printed_factors.items():
        ratio = TABLE_3[method]["gaps"]["background"] / TABLE_3["erm"]["gaps"]["background"]
        assert ratio == pytest.approx(factor, abs=0.01)
    for method, factor in {"augmix": 1.08, "lff": 1.64, "jtt(E=1)": 1.18, "eiil(E=1)": 2.21}.items():
        assert TABLE_3[method]["gaps"]["co-object"] / TABLE_3["erm"]["gaps"]["co-object"] == pytest.approx(
            factor, abs=0.01
        )
    assert reported_for("lle")["gaps"]["background+co-object"] == -0.059
    assert reported_for("eiil", {"learners": {"eiil": {"identify_epochs": 3}}}) is None


def test_differences_of_protocol_are_named_and_only_those():
    card = {"correlations": {"T1": [0.95, 0.95]}, "phases": ["T1"], "final": "worst-group", "images": {"group": 125}}
    same = {"stream": {"size": 256}, "backbone": {"name": "resnet50"}, "training": {"epochs": [300], "lr": 0.001}}
    assert protocol_differences(card, same) == []
    other = protocol_differences({**card, "correlations": {"T1": [0.9, 0.95]}}, {"stream": {"size": 64}})
    assert other == ["stream.size 64 (paper: 256)", "correlations 0.9, 0.95 (paper: .95, .95)"]


def test_a_results_folder_takes_cues_and_correlations_from_its_proof(tmp_path, quick):
    results = ResultsFolder(tmp_path / "study")
    results.write_config(
        build_config({"name": "whac", "methods": ["lle", "erm"], "seeds": [1], "score": {"final": "last"}})
    )
    write_json(results.proof_file, PROOF)
    for method in ("erm", "lle"):
        run = results.path / "runs" / f"{method}-seed1"
        write_json(run / "status.json", {"state": "finished"})
        study({method: PAPERLIKE[method]}, seeds=(1,)).write(run / "timeline.csv")
    card, page = report_study(results)
    assert card["cues"] == list(CUES)
    assert card["correlations"] == {"T1": [0.95, 0.95]}
    assert list(card["methods"]) == ["lle", "erm"]  # as they were asked for
    assert card["reported"]["methods"]["lle"]["ID"] == 0.967
    assert "Several shortcuts: whac" in page.read_text(encoding="utf-8")


def test_score_of_log_files(tmp_path, quick, monkeypatch, capsys):
    def said(*words):
        monkeypatch.setattr("sys.argv", ["einstellung", "score", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, capsys.readouterr()

    log = study(MOVED, extra=TWINS).write(tmp_path / "timeline.csv")
    code, printed = said(log, "--json")
    card = json.loads(printed.out)
    assert (code, card["kind"], card["tau"], card["cues"]) == (0, "shortcuts", 0.9, list(CUES))
    assert card["methods"]["erm"]["phases"]["T2"]["own"]["ID"]["mean"] is None
    assert any("--correlations .95,.95" in warning for warning in card["warnings"])
    code, printed = said(log, "--correlations", ".95,.5/.5,.95", "--cues", "sky, thing", "--json")
    card = json.loads(printed.out)
    assert card["correlations"] == {"T1": [0.95, 0.5], "T2": [0.5, 0.95]}
    assert card["cues"] == ["sky", "thing"]
    code, printed = said(log, "--correlations", ".95,.95", "--out", tmp_path / "out")
    assert "BG gap" in printed.out
    assert "Several shortcuts at once" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for words, complaint in (
        (("--correlations", ".9"), "1 correlations of T1 for 2 cues"),
        (("--correlations", ".9,.9/.5,.5/.5,.5"), "3 lists for the 2 phases"),
        (("--correlations", "a,b"), "give some numbers"),
        (("--final", "worst-group"), "choose last"),
        (("--final", "best-val"), "no meaning for several shortcuts"),
        (("--variant", "guide"), "no meaning for timelines of several shortcuts"),
    ):
        code, printed = said(log, *words)
        assert code == 2
        assert complaint in printed.err
    other = timeline_of(rows_of("sgd", 1, "T2", {"T2_shortcut_normal": 0.5})).write(tmp_path / "other.csv")
    code, printed = said(other, "--correlations", ".9,.9")
    assert code == 2
    assert "--correlations is for timelines of several shortcuts" in printed.err


@st.composite
def odd_timelines(draw):
    """Any part of two cues' groups, of their validation and their twins, in any phases, seeds and epochs."""
    splits = [*groups(two_cues(0, 0, 0, 0)), *groups(two_cues(0, 0, 0, 0), "val"), *TWINS, "T1_train", "another"]
    runs = st.tuples(
        st.sampled_from(["erm", "scratch", "a_$b$"]), st.integers(1, 3), st.sampled_from(["T1", "T2", "T3"])
    )
    rows = []
    for method, seed, phase in draw(st.lists(runs, min_size=1, max_size=7, unique=True)):
        kept = splits if draw(st.booleans()) else draw(st.lists(st.sampled_from(splits), min_size=1, unique=True))
        for epoch in draw(st.sampled_from([[0.0], [2.0], [0.0, 1.0, 2.5]])):
            values = {split: draw(st.sampled_from([0.0, 0.5, 0.9, 1.0])) for split in kept}
            rows += rows_of(method, seed, phase, values, epochs=(epoch,), n=draw(st.sampled_from([None, 5])))
    return timeline_of([*rows, ("erm", 9, "T2", 1.0, "group_1_10", 0.5, None, None)])


CORRELATIONS = st.sampled_from([None, (0.95, 0.5), (1.0, 1.0), {"T2": (0.5, 0.95)}])


@settings(max_examples=25, deadline=None)
@given(odd_timelines(), CORRELATIONS)
def test_every_valid_timeline_has_a_card_and_lines(timeline, correlations):
    card = shortcut_score(timeline, cues=CUES, correlations=correlations)
    assert json.loads(json.dumps(card, allow_nan=False)) == card
    console = Console(file=io.StringIO(), width=100)
    render_terminal(card, console)
    assert "verdict" in console.file.getvalue()
    assert shortcut_answer(card)
    assert shortcut_tables(with_reported(card))["table3"].rows


@settings(max_examples=4, deadline=None)
@given(odd_timelines(), CORRELATIONS)
def test_every_valid_timeline_has_a_page(tmp_path_factory, timeline, correlations):
    def look(figure, folder, name):
        figure.draw_without_rendering()
        return {"svg": b"<svg/>"}

    card = shortcut_score(timeline, cues=CUES, correlations=correlations)
    save, catalogue.save = catalogue.save, look
    try:
        page = write_shortcut_report(tmp_path_factory.getbasetemp() / "odd", timeline, card)
    finally:
        catalogue.save = save
    assert page.stat().st_size > 0


@pytest.mark.parametrize("stored", ["predictions_last.csv", "predictions.csv", None])
def test_a_results_folder_takes_intervals_over_images_from_predictions(tmp_path, quick, stored):
    """Of the last epoch, since that is what is scored: those of the chosen checkpoint are of another one."""
    results = ResultsFolder(tmp_path / "study")
    results.write_config(
        build_config({"name": "whac", "methods": ["erm", "lle"], "seeds": [1, 2], "score": {"final": "last"}})
    )
    write_json(results.proof_file, PROOF)
    ends, n = {"erm": two_cues(1.0, 0.9, 0.7, 0.4), "lle": two_cues(1.0, 0.9, 0.9, 0.9)}, 50
    for method, patterns in ends.items():
        for seed in (1, 2):
            run = results.path / "runs" / f"{method}-seed{seed}"
            write_json(run / "status.json", {"state": "finished"})
            study({method: {"T1": patterns}}, seeds=(seed,)).write(run / "timeline.csv")
            if stored is not None:
                predictions_of(groups(patterns), n).to_csv(run / stored, index=False)
                if stored == "predictions_last.csv":
                    predictions_of(groups(dict.fromkeys(patterns, 0.5)), n).to_csv(run / "predictions.csv", index=False)
    card, page = report_study(results)
    words = " ".join(Reader(page.read_text(encoding="utf-8")).text.split())
    rows = [row for row in table_of(results.path, "verdicts") if (row["method"], row["gap"]) == ("lle", "background")]
    if stored is None:
        assert card["image_resamples"] is None
        assert "runs/erm-seed1/predictions.csv is missing; there are no intervals over images" in card["warnings"][0]
        assert "verdicts go by seeds alone" in words
        assert rows[0]["images_low95"] == ""
    else:
        assert card["image_resamples"] == 2000
        assert "95 % interval of the difference over seeds and test images excludes 0" in words
        assert float(rows[0]["images_low95"]) < 0.2 < float(rows[0]["images_high95"])
        assert float(rows[0]["both_low95"]) <= float(rows[0]["images_low95"])
