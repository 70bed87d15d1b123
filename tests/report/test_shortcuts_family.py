"""A family of studies of several shortcuts: its page, tables and figure; what is refused; a small one from the command line."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from matplotlib.colors import to_hex

from einstellung.cli.several import FamilyOnDisk
from einstellung.diagnoses.shortcuts.family import write_family_report
from einstellung.diagnoses.shortcuts.family_tables import family_tables
from einstellung.diagnoses.shortcuts.figures.family import draw_family, has_gaps
from einstellung.diagnoses.shortcuts.score import shortcut_score
from einstellung.diagnoses.shortcuts.splits import patterns_of
from einstellung.errors import InputError
from einstellung.files import write_json
from einstellung.report.family import family_answer, family_kind, report_family
from einstellung.report.figures import canvas
from einstellung.report.figures import shortcuts as catalogue
from einstellung.results.config import build_config
from einstellung.results.family import write_family
from einstellung.results.folder import ResultsFolder
from einstellung.timeline import Timeline
from tests.experiments.conftest import typed
from tests.metrics.several import rows_of, study, timeline_of, two_cues

from .test_page import Reader
from .test_shortcuts import CORRELATIONS, CUES, odd_timelines, save_as_svg

#: From the pattern with all cues common, in points: in ``switch``, erm's background gap goes from -40 to -15 and its co-object
#: gap from 0 to -30; in ``joined``, sd has closed the background gap of erm (-23, -5) and opened the co-object's (-18, -38).
ENDS = {
    "switch": {
        "er+lle": {"T1": two_cues(0.95, 0.95, 0.85, 0.85), "T2": two_cues(0.95, 0.95, 0.945, 0.9)},
        "erm": {"T1": two_cues(0.95, 0.95, 0.55, 0.55), "T2": two_cues(0.95, 0.65, 0.8, 0.5)},
        "scratch": {"T1": two_cues(0.95, 0.95, 0.55, 0.55), "T2": two_cues(0.95, 0.6, 0.92, 0.6)},
    },
    "joined": {
        "erm": {"T1": two_cues(0.98, 0.98, 0.75, 0.75), "T2": two_cues(0.98, 0.80, 0.75, 0.4)},
        "sd": {"T1": two_cues(0.98, 0.98, 0.93, 0.93), "T2": two_cues(0.98, 0.60, 0.93, 0.4)},
    },
    "turned": {"erm": {"T1": two_cues(0.98, 0.8, 0.75, 0.4), "T2": two_cues(0.4, 0.75, 0.8, 0.98)}},
}
RHO = {
    "switch": {"T1": (0.95, 0.5), "T2": (0.5, 0.95)},
    "joined": {"T1": (0.95, 0.5), "T2": (0.95, 0.95)},
    "turned": {"T1": (0.95, 0.95), "T2": (0.05, 0.05)},
}
SENTENCES = [
    "Whac-A-Mole in 1 of 3 studies, at the end of the last phase: joined (sd). In turned the data tell about every cue of no "
    "method beside the baseline.",
    "A gap outlives its correlation in 1 of 3 studies: switch (the background gap of T1 is still there after T2 in erm). In "
    "joined and turned no cue loses its correlation.",
    "From phase to phase, one gap is traded for another in 1 of 3 studies: switch (background to co-object, from T1 to T2, in "
    "erm).",
    "Certain is what is beyond the margin and confirmed by 95 % intervals over seeds: 3 seeds a method (1, 2, 3); 100 test "
    "images a pattern.",
]


def write_study(root: Path, name: str, timeline: Timeline, correlations: dict[str, Any]) -> None:
    """A results folder as a run leaves it, with one finished run for each method."""
    results = ResultsFolder(root / name)
    results.write_config(build_config({"name": name, "methods": timeline.methods, "seeds": [1, 2, 3]}))
    facts = {"protocol": "several shortcuts", "cues": list(CUES), "correlations": correlations}
    write_json(results.proof_file, {"stream": "composites", "facts": facts, "checks": []})
    for method, frame in timeline.frame.groupby("method"):
        run = results.path / "runs" / f"{method}-seed1"
        write_json(run / "status.json", {"state": "finished"})
        Timeline(frame.reset_index(drop=True)).write(run / "timeline.csv")


@dataclass(frozen=True)
class Written:
    root: Path
    cards: dict[str, Any]
    html: str


@pytest.fixture(scope="module")
def family(tmp_path_factory) -> Written:
    """Three finished studies, and one that has not begun."""
    root = tmp_path_factory.mktemp("family")
    for name, ends in ENDS.items():
        write_study(root, name, study(ends, spread=0.004), RHO[name])
    write_family(root, [*ENDS, "later"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "_plans", lambda *inputs: {})
        patch.setattr(canvas, "save", save_as_svg)
        cards, page = report_family(root, [*ENDS, "later"])
    return Written(root, cards, page.read_text(encoding="utf-8"))


@pytest.fixture
def quick(monkeypatch):
    """Figures are not what is looked at here."""
    monkeypatch.setattr(catalogue, "_plans", lambda *inputs: {})
    monkeypatch.setattr(canvas, "save", lambda figure, folder, name: {"svg": b"<svg/>"})


def rows(root: Path, table: str) -> list[dict[str, str]]:
    with (root / "tables" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def card_of(ends, correlations, **options) -> dict[str, Any]:
    return shortcut_score(study(ends, **options), cues=CUES, correlations=correlations)


def test_the_answer_says_where_gaps_are_carried_over_traded_and_amplified(family):
    assert family_answer(family.cards) == SENTENCES


def test_the_page_is_whole_answers_first_and_leads_to_every_study(family):
    page = Reader(family.html)
    assert len(set(page.ids)) == len(page.ids)
    assert all(load.startswith("data:") for load in page.loads)
    assert page.links == [f"{name}/report.html" for name in ENDS]
    assert all((family.root / link).is_file() for link in page.links)
    words = page.text
    assert words.index(SENTENCES[0]) < words.index(SENTENCES[2]) < 1000
    for expected in (
        "no finished run yet in later",
        "turned: In T2 the common values of background and co-object go against the label",
        "T1: BG 0.95, CoObj 0.5; T2: BG 0.5, CoObj 0.95",
        "carry-over",
        "Files: figures/family.svg",
    ):
        assert expected in words, expected
    assert json.loads((family.root / "family.json").read_text()) == json.loads(json.dumps({"studies": family.cards}))


def test_the_last_phase_of_all_studies_is_one_table(family):
    table = {(row["study"], row["method"]): row for row in rows(family.root, "last_phase")}
    assert len(table) == 6
    assert next(iter(table)) == ("switch", "erm")  # the baseline before those that are compared with it
    found = table["joined", "sd"]
    # ID = .9025 .98 + .0475 (.60 + .93) + .0025 .4 = .958125, of erm .959075
    assert float(found["ID"]) == pytest.approx(0.958125)
    assert float(found["co-object gap"]) == pytest.approx(0.60 - 0.958125)
    assert float(found["co-object amplification"]) == pytest.approx((0.60 - 0.958125) / (0.80 - 0.959075))
    assert float(found["worst_group"]) == pytest.approx(0.4)
    assert (found["n_seeds"], found["images_pattern"], found["verdict"]) == ("3", "100", "whac-a-mole")
    assert table["joined", "erm"]["co-object amplification"] == ""
    text = (family.root / "tables" / "last_phase.md").read_text(encoding="utf-8")
    assert "| joined | sd | 95.8 | −2.8 | −35.8 (↑×2.25) |" in text
    assert r"\begin{tabular}{llrrrrrrr}" in (family.root / "tables" / "last_phase.tex").read_text(encoding="utf-8")


def test_carry_over_and_trade_of_all_studies_are_tables(family):
    left = {row["method"]: row for row in rows(family.root, "carry_over")}
    assert {row["study"] for row in rows(family.root, "carry_over")} == {"switch"}
    assert float(left["erm"]["gap_before"]) == pytest.approx(-0.40)
    assert float(left["erm"]["gap"]) == pytest.approx(-0.15)
    assert float(left["erm"]["share"]) == pytest.approx(0.375)
    # -.5 points, and t(2) = 4.303 times .4 / sqrt(3) either side: 0 is within
    assert float(left["er+lle"]["high95"]) == pytest.approx(-0.005 + 4.3027 * 0.004 / 3**0.5, abs=1e-6)
    assert [left[name]["carried_over"] for name in ("erm", "er+lle", "scratch")] == ["yes", "not shown", "fresh net"]
    trades = {(row["study"], row["method"], row["from"], row["pair"]): row for row in rows(family.root, "trade")}
    assert float(trades["switch", "erm", "T1", "background -> co-object"]["T"]) == pytest.approx(0.25)
    assert float(trades["switch", "erm", "T1", "co-object -> background"]["T"]) == pytest.approx(-0.30)
    beside = trades["joined", "sd", "erm", "background -> co-object"]
    assert float(beside["T"]) == pytest.approx(min(0.93 - 0.75, 0.80 - 0.60))  # both have .98 where all is common
    assert beside["trade"] == "True"
    assert trades["joined", "erm", "erm", "background -> co-object"]["T"] == ""
    fresh = trades["switch", "scratch", "T1", "background -> co-object"]
    assert float(fresh["T"]) == pytest.approx(0.35)  # and yet no trade: nothing was there to be traded
    assert fresh["trade"] == "False"
    text = (family.root / "tables" / "trade.md").read_text(encoding="utf-8")
    assert "| switch | erm | T1 to T2 | +25.0 trade | −30.0 |" in text


def test_the_figure_marks_what_is_carried_over_and_what_grew(family):
    cards = {name: family.cards[name] for name in ENDS}
    with canvas.drawing():
        figure = draw_family(cards)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:2] == ["switch: BG gap, 0.95 → 0.5", "switch: CoObj gap, 0.5 → 0.95"]
    assert len(titles) == 6
    grey = [axes.get_title(loc="left") for axes in figure.axes if to_hex(axes.get_facecolor()) != "#ffffff"]
    assert grey == titles[:1]  # the only cue that loses its correlation
    row = list(dict.fromkeys(method for ends in ENDS.values() for method in ends)).index("erm")

    def at(axes, marker):
        lines = [line for line in axes.lines if line.get_marker() == marker]
        return [(round(float(line.get_xdata()[0]), 6), line.get_ydata()[0]) for line in lines if len(line.get_xdata())]

    background, other = figure.axes[:2]
    assert at(background, "D") == [(-15.0, row)]
    assert at(other, "<") == [(-30.0, row)]
    assert (-40.0, row) in at(background, "o")  # where it was after T1
    dashed = [line for line in background.lines if line.get_linestyle() == "--" and len(set(line.get_xdata())) == 1]
    assert [round(float(line.get_xdata()[0]), 6) for line in dashed] == [-15.0]


def test_failed_checks_and_warnings_name_their_studies(tmp_path, quick):
    card = card_of(ENDS["joined"], RHO["joined"])
    broken = {**card, "checks": [{"name": "seeds differ", "passed": False, "detail": "1 and 2 are equal"}]}
    both = {"a": {**broken, "warnings": ["odd"]}, "b": {**card, "warnings": ["odd", "odder"]}}
    words = Reader(write_family_report(tmp_path, both).read_text(encoding="utf-8")).text
    assert "1 check failed: read this before the numbers. a: seeds differ: 1 and 2 are equal" in words
    assert "a and b: odd" in words
    assert "b: odder" in words


def test_with_a_single_seed_nothing_is_certain(tmp_path, quick):
    cards = {name: card_of(ENDS[name], RHO[name], seeds=(1,)) for name in ("switch", "joined")}
    assert family_answer(cards) == [
        "Nothing is decided about Whac-A-Mole: of no method do the data tell about every cue.",
        "In switch no gap is certain to be left where its correlation is gone. In joined no cue loses its correlation.",
        "From phase to phase, no gap is certain to shrink while another grows.",
        "Certain is what is beyond the margin and confirmed by 95 % intervals over seeds: a single seed (1); 100 test images a "
        "pattern. With a single seed nothing is certain: so in switch and joined.",
    ]
    words = Reader(write_family_report(tmp_path, cards).read_text(encoding="utf-8")).text
    assert "Fewer than three seeds" in words


def test_of_many_methods_those_are_named_that_are_missing():
    ends = dict.fromkeys(("erm", "a", "b", "c", "d"), ENDS["switch"]["erm"])
    card = card_of({**ends, "lle": ENDS["switch"]["er+lle"]}, RHO["switch"], spread=0.004)
    answer = family_answer({"one": card, "other": card})
    assert "one (the background gap of T1 is still there after T2 in all 6 methods but lle)" in answer[1]
    assert "other (background to co-object, from T1 to T2, in all 6 methods but lle)" in answer[2]


def test_studies_with_other_cues_phases_and_baselines_stand_beside_each_other(tmp_path, quick):
    three = {pattern: 0.9 - 0.1 * pattern.count("0") for pattern in patterns_of(3)}
    cues = (*CUES, "watermark")
    cards = {
        "two": card_of({"sgd": {"T1": two_cues(0.9, 0.8, 0.7, 0.6)}}, (0.9, 0.9)),
        "three": shortcut_score(study({"erm": {"T1": three}}), cues=cues, correlations=(0.9, 0.9, 0.9)),
    }
    assert family_answer(cards)[0].endswith("Without a baseline nothing can be said in two.")
    assert len(family_answer(cards)) == 2  # one phase each: nothing to carry over, nothing traded from phase to phase
    write_family_report(tmp_path, cards)
    gaps = {row["study"]: row["watermark gap"] for row in rows(tmp_path, "last_phase")}
    assert gaps["two"] == ""
    assert float(gaps["three"]) < 0
    text = (tmp_path / "tables" / "last_phase.md").read_text(encoding="utf-8")
    assert "this study has other cues" in text
    assert "there is one phase only" in (tmp_path / "tables" / "trade.md").read_text(encoding="utf-8")
    assert not (tmp_path / "tables" / "carry_over.md").exists()


@settings(max_examples=12, deadline=None)
@given(odd_timelines(), odd_timelines(), CORRELATIONS)
def test_every_pair_of_valid_timelines_has_an_answer_and_tables(one, other, correlations):
    cards = {
        "one": shortcut_score(one, cues=CUES, correlations=correlations),
        "other": shortcut_score(other, cues=CUES),
    }
    assert family_answer(cards)
    assert family_tables(cards)["last_phase"].rows


@settings(max_examples=3, deadline=None)
@given(odd_timelines(), CORRELATIONS)
def test_every_valid_timeline_is_drawn_beside_another(timeline, correlations):
    cards = {
        "odd": shortcut_score(timeline, cues=CUES, correlations=correlations),
        "$x$": card_of(ENDS["switch"], RHO["switch"]),
    }
    assert has_gaps(cards)
    with canvas.drawing():
        draw_family(cards).draw_without_rendering()


GROUPS, TASKS, INDEX = ["group_0_11", "T1_val"], ["T1_positive"], ["T1_all", "T2_val"]


@pytest.mark.parametrize(
    ("splits", "words"),
    [
        (
            {"a": GROUPS, "b": TASKS},
            "study a is of several shortcuts and study b of confounded tasks: a family is of one kind",
        ),
        ({"a": TASKS, "b": GROUPS}, "study a is of confounded tasks and study b of several shortcuts"),
        ({"a": GROUPS, "b": INDEX}, "study b is neither of confounded tasks nor of several shortcuts"),
        ({"a": INDEX, "b": INDEX}, "study a is neither of"),
    ],
)
def test_other_kinds_and_mixtures_are_refused(splits, words):
    with pytest.raises(InputError, match=words):
        family_kind(splits)


def test_a_root_with_studies_of_another_kind_is_refused(tmp_path):
    run = tmp_path / "old"
    write_family(tmp_path, ["old", "never_run"])
    timeline_of(rows_of("naive", 1, "T1", {"T1_positive": 0.9})).write(run / "timeline.csv")
    with pytest.raises(InputError, match="study new is of several shortcuts and study old of confounded tasks"):
        FamilyOnDisk(tmp_path, ("new",)).check_kinds({"new": GROUPS})
    FamilyOnDisk(tmp_path, ("old",)).check_kinds({"old": GROUPS})  # it is made anew


SWITCH = {"name": "composites", "size": 32, "train": 12, "val": 4, "test": 4, "phases": [[0.75, 0.5], [0.5, 0.75]]}
SMALL: dict[str, Any] = {
    "name": "small",
    "stream": SWITCH,
    "backbone": {"name": "resnet18", "width": 8, "stem_stride": 2},
    "training": {"epochs": [1, 1], "batch_size": 12, "precision": "fp32", "milestones": []},
    "evaluation": {"first_phase": "end"},
    "methods": ["erm"],
    "seeds": [1],
}


@pytest.fixture
def alone(monkeypatch):
    """Neither a cache nor other processes, which take seconds to start and have tests of their own."""
    monkeypatch.setenv("EINSTELLUNG_CACHE", "off")
    monkeypatch.setattr("einstellung.experiments.study.warm_up", lambda: None)
    monkeypatch.setattr("einstellung.experiments.study.run_jobs", in_this_process)


def configured(path: Path, **changes: Any) -> Path:
    path.write_text(yaml.safe_dump({**SMALL, **changes}, sort_keys=False))
    return path


def in_this_process(jobs, config, root, digests, workers, display):
    """Instead of workers."""
    from einstellung.experiments.execution import execute, proved_stream

    stream = proved_stream(config, digests)
    for job in jobs:
        execute(job, config, root, stream, lambda work, where: None)
    return []


def test_a_family_from_the_command_line(tmp_path, quick, alone, monkeypatch, capsys):
    root = tmp_path / "out"
    joined = {"stream": {"phases": [[0.75, 0.5], [0.75, 0.75]]}}
    config = configured(tmp_path / "small.yaml", studies={"switch": {}, "joined": joined})
    run = ("run", config, "--out", root, "--workers", 1)
    assert typed(monkeypatch, *run, "--only", "joined") == 0
    assert "nothing is certain: so in joined." in capsys.readouterr().out
    assert not (root / "switch").exists()
    assert typed(monkeypatch, *run) == 0
    said = capsys.readouterr()
    printed = said.out
    assert "With a single seed nothing is certain: so in switch and joined." in printed
    assert "1 finished runs were reused, 0 were run" in said.err  # what was run before by itself
    assert f"report: {root / 'family.html'}" in printed
    page = (root / "family.html").read_text(encoding="utf-8")
    assert {row["study"] for row in rows(root, "last_phase")} == {"switch", "joined"}
    (root / "family.html").unlink()
    assert typed(monkeypatch, "report", root, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["studies"]["switch"]["correlations"] == {"T1": [0.75, 0.5], "T2": [0.5, 0.75]}
    assert (root / "family.html").read_text(encoding="utf-8") == page


def test_a_mixture_is_refused_before_anything_is_trained(tmp_path, alone, monkeypatch, capsys):
    shapes = {"name": "shapes", "size": 12, "train_per_class": 8, "test_per_class": 2}
    members = {"cues": {"stream": SWITCH}, "index": {"stream": shapes, "methods": ["sgd"]}}
    config = tmp_path / "mixed.yaml"
    config.write_text(yaml.safe_dump({key: SMALL[key] for key in SMALL if key != "stream"} | {"studies": members}))
    run = ("run", config, "--out", tmp_path / "out")
    for verb in (run, (*run, "--dry-run"), ("validate", config)):
        assert typed(monkeypatch, *verb) == 2
        assert "study index is neither of confounded tasks nor of several shortcuts" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_sweep_has_no_page_for_several_shortcuts_and_says_so_at_once(tmp_path, alone, monkeypatch, capsys):
    config, root = configured(tmp_path / "small.yaml"), tmp_path / "out"
    for more in ((), ("--dry-run",)):
        assert typed(monkeypatch, "run", config, "--sweep", "training.lr=0.1,0.01", "--out", root, *more) == 2
        assert "training.lr=0.1 is a study of several shortcuts" in capsys.readouterr().err
    assert not root.exists()
