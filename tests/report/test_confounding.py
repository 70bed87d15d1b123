"""The report of confounded tasks: its page, tables and figures; of results folders, log files and families."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import AxesImage
from matplotlib.text import Text
from rich.console import Console

from einstellung.cli import main
from einstellung.files import write_bytes, write_json
from einstellung.metrics.confounding import confounding_score
from einstellung.report import render_terminal, write_confounding_report
from einstellung.report.confounding_answer import confounding_answer
from einstellung.report.confounding_claims import claims_table
from einstellung.report.confounding_curves import phase_parts
from einstellung.report.confounding_family import report_family
from einstellung.report.confounding_tables import confounding_tables
from einstellung.report.confounding_terminal import confounding_in_words
from einstellung.report.figures import canvas
from einstellung.report.figures import confounding as catalogue
from einstellung.report.figures.canvas import drawing, render, settle
from einstellung.report.figures.confounding_learning import draw_learning
from einstellung.report.figures.confounding_matrix import COLOURS, draw_matrices
from einstellung.report.figures.confounding_samples import pairs_sheet, sheet_tasks
from einstellung.report.figures.confounding_twins import draw_twins
from einstellung.report.figures.confounding_verdict import draw_unconfounded
from einstellung.report.published_confounding import with_reported
from einstellung.report.study import report_study
from einstellung.results.config import build_config
from einstellung.results.family import write_family
from einstellung.results.folder import ResultsFolder
from einstellung.timeline import Timeline
from tests.metrics.confounded import both, figure_6_ends, study, three_tasks

from .test_page import Reader

PROOF = {
    "stream": "concon",
    "facts": {
        "protocol": "confounded tasks",
        "variant": "strict",
        "confounders": ["blue", "metal", "large"],
        "ground_truth": "sphere and small cube",
        "tasks": 3,
        "input_modality": "pixels",
    },
    "checks": [{"name": "every scene obeys the rule of its task and label", "passed": True, "detail": "9 scenes"}],
}


@dataclass(frozen=True)
class Written:
    """A report on disk and what it was made from."""

    folder: Path
    timeline: Timeline
    card: dict[str, Any]
    html: str


def card_of(timeline, **facts):
    described = {"variant": "strict", "model": "NN", "confounders": ["blue", "metal", "large"], **facts}
    return with_reported(confounding_score(timeline, **described), {"stream": {"size": 64}})


def write_samples(path: Path) -> Path:
    names = [f"T{task}_{label}{kind}" for task in (1, 2, 3) for label in ("positive", "negative") for kind in KINDS]
    names += ["unconfounded_positive", "unconfounded_negative"]
    images = {name: np.full((8, 16, 16, 3), 10 * place, dtype=np.uint8) for place, name in enumerate(names)}
    np.savez(path, **images)
    return path


KINDS = ("", "_paired", "_twin")


def save_as_svg(figure, folder, name):
    """All formats hold the same; one takes a third of the time."""
    settle(figure)
    content = render(figure, "svg")
    write_bytes(folder / f"{name}.svg", content)
    return {"svg": content}


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Written:
    folder = tmp_path_factory.mktemp("confounded")
    timeline = study(three_tasks(), spread=0.01)
    card = card_of(timeline)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "save", save_as_svg)
        page = write_confounding_report(
            folder,
            timeline,
            card,
            proof=PROOF,
            provenance={"command": "einstellung run"},
            configuration="name: <strict>\n",
            samples=write_samples(folder / "samples.npz"),
            title="A & B <strict>",
        )
    return Written(folder, timeline, card, page.read_text(encoding="utf-8"))


def test_a_task_whose_positives_have_no_twin_is_reported_without_them(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "save", save_as_svg)
    frame = study(three_tasks(), spread=0.01).frame
    lost = ("T1_positive_paired", "T1_positive_twin")
    timeline = Timeline(frame[~frame["split"].isin(lost)].reset_index(drop=True))
    with np.load(write_samples(tmp_path / "all.npz")) as samples:
        np.savez(tmp_path / "samples.npz", **{name: samples[name] for name in samples.files if name not in lost})
    card = card_of(timeline)
    twins = card["methods"]["naive"]["twins"]["T1"]["end"]
    assert twins["positive_twin"]["mean"] is None
    assert twins["negative_twin"]["mean"] is not None
    assert "positives of T1" not in card["methods"]["naive"]["verdict"]["sentence"]
    page = write_confounding_report(
        tmp_path / "report",
        timeline,
        card,
        proof=PROOF,
        provenance=None,
        configuration=None,
        samples=tmp_path / "samples.npz",
        title="x",
    )
    assert "insidiously confounded" in page.read_text(encoding="utf-8")


@pytest.fixture
def quick(monkeypatch):
    """Figures are not what is looked at here."""
    monkeypatch.setattr(catalogue, "_plans", lambda *inputs: {})
    monkeypatch.setattr(canvas, "save", lambda figure, folder, name: {"svg": b"<svg/>"})


def texts_of(figure):
    return [text.get_text() for text in figure.findobj(Text) if text.get_visible() and text.get_text()]


def test_seeds_that_count_a_few_images_more_share_their_moments():
    """A random buffer holds another number of a phase's own images for every seed: the k-th looks belong together."""
    frame = study(three_tasks(), seeds=(1, 2), spread=0.01).frame
    frame["epoch"] = frame["epoch"].where(frame["seed"] == 1, frame["epoch"] * 0.9)
    parts = phase_parts(Timeline(frame), "naive", ["T1", "T2", "T3"])
    assert [part.end for part in parts] == pytest.approx([3.8, 7.6, 11.4])
    assert parts[0].curves["test"].epochs == pytest.approx([0, 0.95, 1.9, 2.85, 3.8])
    assert parts[0].curves["test"].n == 2
    assert all(part.average is not None for part in parts)


def test_the_page_loads_nothing_and_its_links_lead_somewhere(written):
    reader = Reader(written.html)
    assert reader.open == []
    assert all(address.startswith("data:") for address in reader.loads)
    assert {link[1:] for link in reader.links} <= set(reader.ids)
    assert "<h1>A &amp; B &lt;strict&gt;</h1>" in written.html
    assert "name: &lt;strict&gt;" in written.html


def test_the_page_answers_first_and_says_what_it_rests_on(written):
    text = Reader(written.html).text
    answer = "naive and cumulative are insidiously confounded: 50.0 to 72.0 % on unconfounded images, while joint training on"
    assert text.index(answer) < text.index("Verdicts")
    for words in (
        "Judged against each method's own tasks right after it learned them",
        "more than 10.0 points below it is confounded",
        "At the end, taking 'blue' away from positives of T1: 98.0 % → 20.0 % right",
        "T1 'blue', T2 'metal', T3 'large'",
        "The protocols differ: stream.size 64 (paper: 224).",
        "every scene obeys the rule of its task and label",
        "T2_negative_twin the same scenes with the confounder put in 600 images all 4",
        "baseline: fresh in every phase",
        "command einstellung run",
    ):
        assert words in text, words


def test_everything_lies_beside_the_page(written):
    assert json.loads((written.folder / "score.json").read_text()) == json.loads(json.dumps(written.card))
    names = {"table1", "table4", "verdicts", "facets", "forgetting", "matrices", "seeds"}
    assert {path.name for path in (written.folder / "tables").iterdir()} == {
        f"{name}.{kind}" for name in names for kind in ("md", "tex", "csv")
    }
    figures = {"unconfounded", "matrices", "learning", "twins", "samples"}
    assert {path.stem for path in (written.folder / "figures").iterdir()} == figures
    assert not list(written.folder.rglob("*.writing*"))


def test_measured_stands_above_reported(written):
    with (written.folder / "tables" / "table4.csv").open() as stream:
        rows = {(row["method"], row["source"]): row for row in csv.DictReader(stream)}
    assert float(rows["cumulative", "reported"]["unconfounded_mean"]) == 0.726
    assert float(rows["cumulative", "measured"]["unconfounded_mean"]) == pytest.approx(0.72)
    assert rows["cumulative", "reported"]["n_seeds"] == "5"
    assert rows["joint", "measured"]["T1@T3_mean"] == ""
    assert ("scratch", "reported") not in rows
    table = confounding_tables(written.card)["table4"]
    joint = next(row for row in table.rows if (row[0].text, row[1].text) == ("joint", "reported"))
    assert [cell.text for cell in joint[2:]] == ["98.2 ± 1.11", "99.2 ± 0.17", "98.9 ± 0.30", "–", "–", "95.7 ± 2.04"]
    assert joint[5].why == "all tasks were learned at once: there are no old ones"


def test_cells_of_the_matrices_are_what_was_measured(written):
    card = card_of(study(figure_6_ends(), seeds=(1,)), variant="disjoint")
    with drawing():
        figure = draw_matrices(card)
    naive = figure.axes[0]
    image = naive.findobj(AxesImage)[0]
    assert image.get_array()[1].tolist() == pytest.approx([0.0084, 0.9989, 0.1768, 0.9712])
    assert {"99.9", "17.7", "97.1", "0.8"} <= set(texts_of(naive))
    assert (image.norm.vmin, image.norm.vmax) == (0, 1)
    with drawing():
        joint = draw_matrices(written.card).axes[6]
    assert joint.findobj(AxesImage)[0].get_array().mask[:2].all()


def test_wrong_and_right_differ_for_every_sight():
    """Chance is white; the ends differ in blue, which no red-green blindness touches, and both are far darker than white."""
    wrong, chance, right = (np.array(COLOURS(value)[:3]) for value in (0.0, 0.5, 1.0))
    assert chance.min() > 0.98
    assert abs(wrong[2] - right[2]) > 0.4
    assert max(wrong.mean(), right.mean()) < 0.5


def test_learning_curves_go_on_from_phase_to_phase(written):
    parts = phase_parts(written.timeline, "cumulative", ["T1", "T2", "T3"])
    assert [(part.phase, part.start, part.end) for part in parts] == [("T1", 0, 4), ("T2", 4, 8), ("T3", 8, 12)]
    last = parts[-1]
    assert last.curves["unconfounded"].epochs.tolist() == [8, 9, 10, 11, 12]
    assert last.curves["unconfounded"].mean[-1] == pytest.approx(0.72)
    assert last.curves["train"].mean[-1] == pytest.approx(0.90)
    assert last.average == pytest.approx((0.86 + 0.9 + 0.89) / 3)
    (joint,) = phase_parts(written.timeline, "joint", ["T1", "T2", "T3"])
    assert joint.average == pytest.approx((0.98 + 0.99 + 0.99) / 3, abs=0.003)
    with drawing():
        figure = draw_learning(written.timeline, written.card)
    assert figure.axes[0].get_title(loc="left") == "cumulative"
    assert "all tasks at once" in texts_of(figure)


def test_figures_name_verdicts_and_confounders(written):
    with drawing():
        verdicts, twins = texts_of(draw_unconfounded(written.card)), texts_of(draw_twins(written.card))
    assert {"insidiously confounded", "not confounded", "chance"} <= set(verdicts)
    assert {"T1 positives: 'blue' taken away", "T3 negatives: 'large' put in"} <= set(twins)


def test_each_twin_stands_below_its_original():
    originals = np.stack([np.full((128, 128, 3), value, dtype=np.uint8) for value in (1, 2, 3, 4, 5)])
    sheet = pairs_sheet(originals, originals + 100)
    assert [int(sheet[60, left, 0]) for left in (10, 150, 280, 420)] == [1, 2, 3, 4]
    assert [int(sheet[200, left, 0]) for left in (10, 150, 280, 420)] == [101, 102, 103, 104]
    assert sheet_tasks({"T1_positive": originals}, ["T1"]) == []


@pytest.mark.parametrize("count", [1, 5])
def test_any_number_of_tasks_without_twins_makes_a_page(tmp_path, monkeypatch, count):
    monkeypatch.setattr(catalogue, "save", save_as_svg)
    tasks = [f"T{number}" for number in range(1, count + 1)]
    phases = {phase: both(**dict.fromkeys(tasks, 0.9), unconfounded=0.85) for phase in tasks}
    timeline = study({"naive": phases}, seeds=(1,), epochs=1)
    card = with_reported(confounding_score(timeline))
    html = write_confounding_report(tmp_path, timeline, card).read_text()
    text = Reader(html).text
    assert "Not drawn: The same scenes with the confounder changed (no twins were measured)." in text
    assert "Not drawn: Test images and their twins (no sample images were stored with these results)." in text
    assert "A single seed." in text
    assert "Wilson interval over images of a single seed" in text


def test_equal_input_gives_equal_bytes(written, tmp_path, quick):
    pages = [write_confounding_report(tmp_path / name, written.timeline, written.card).read_bytes() for name in "ab"]
    assert pages[0] == pages[1]
    with drawing():
        assert render(draw_unconfounded(written.card), "svg") == render(draw_unconfounded(written.card), "svg")


def test_the_terminal_has_a_row_and_a_sentence_per_method(written):
    lines = confounding_in_words(written.card)
    assert lines[0].split() == ["method", "T1", "T2", "T3", "T1@T3", "T2@T3", "unconf.", "verdict"]
    row = next(line for line in lines if line.startswith("joint "))
    assert row.split()[:4] == ["joint", "98.0", "99.0", "99.0"]
    assert row.endswith("not confounded")
    assert any(line.startswith("naive: Insidiously confounded: 50.0 %") for line in lines)
    console = Console(record=True, width=80, force_terminal=True)
    with console.capture() as shown:
        render_terminal(written.card, console)
    assert "insidiously confounded" in shown.get()


def test_the_answer_names_what_is_not_judged():
    ends = three_tasks()
    ends["gdumb"] = {phase: dict(splits) | both(T1=0.6, T2=0.6, T3=0.6) for phase, splits in ends["naive"].items()}
    card = confounding_score(study(ends), variant="strict", model="NeSy")
    first, second = confounding_answer(card)
    assert first.startswith("Variant strict. NeSy: a set transformer that sees the objects' attributes.")
    read = {"sees": "slots", "perceived": {"whole_scenes": 0.25, "ground_truth": 0.8}}
    first, _ = confounding_answer({**card, **read})
    assert "NeSy: a set transformer that sees the objects which slot attention reads off the pixels (of the" in first
    assert "reads 25.0 % wholly right, and by what it reads the ground truth is told right of 80.0 %)." in first
    assert "gdumb did not learn the tasks themselves, so nothing can be concluded." in first
    assert "below 75.0 % is not judged" in second


EVERY_METHOD = "every method that learns the tasks, joint training included, is confounded"


def joint_ends(tasks, unconfounded):
    return {"joint": {"T3": both(T1=tasks, T2=tasks, T3=tasks, unconfounded=unconfounded)}}


@pytest.mark.parametrize(
    ("joint", "holds", "words"),
    [
        (joint_ends(1.0, 0.5), "yes", "confounded: naive, er, cumulative and joint"),
        (joint_ends(1.0, 0.97), "no", "not confounded: joint; confounded: naive, er and cumulative"),
        (joint_ends(1.0, 0.9), "open", "undecided: joint"),
        (joint_ends(0.6, 0.5), "open", "tasks not learned: joint"),
        ({}, "open", "confounded: naive, er and cumulative; joint was not run"),
    ],
)
def test_whether_every_method_is_confounded_is_open_without_a_verdict_on_joint(joint, holds, words):
    card = card_of(study(figure_6_ends() | joint, seeds=(1,)), variant="disjoint")
    row = next(row for row in claims_table({"x": card}).rows if row[1].text == EVERY_METHOD)
    assert row[3].text == holds
    assert words in row[2].text


@pytest.fixture
def family(tmp_path):
    """Three finished studies with one seed and a study that has not begun."""
    members = {
        "nn-strict": ("strict", three_tasks(), ["blue", "metal", "large"]),
        "nn-disjoint": ("disjoint", figure_6_ends() | joint_ends(1.0, 0.5), ["blue", "metal", "large"]),
        "nn-unconfounded": ("unconfounded", {"naive": {"T1": both(T1=0.97, unconfounded=0.96)}}, []),
    }
    for name, (variant, ends, confounders) in members.items():
        folder = ResultsFolder(tmp_path / name)
        stream = {"name": "concon", "variant": variant, "size": 64}
        folder.write_config(build_config({"name": name, "stream": stream, "methods": list(ends), "seeds": [1]}))
        facts = {"variant": variant, "confounders": confounders, "ground_truth": "sphere and small cube"}
        write_json(folder.proof_file, {"stream": "concon", "facts": facts, "checks": []})
        for method in ends:
            run = folder.path / "runs" / f"{method}-seed1"
            write_json(run / "status.json", {"state": "finished"})
            study({method: ends[method]}, seeds=(1,)).write(run / "timeline.csv")
    write_family(tmp_path, [*members, "nesy-strict"])
    return tmp_path


def test_a_results_folder_of_this_kind_gets_this_report(family, quick):
    card, page = report_study(ResultsFolder(family / "nn-strict"))
    assert (card["kind"], card["variant"], card["model"]) == ("confounding", "strict", "NN")
    assert list(card["methods"]) == ["scratch", "naive", "cumulative", "joint"]  # as they were asked for
    assert card["confounders"] == ["blue", "metal", "large"]
    assert card["ceiling"] is None
    assert "stream.size 64 (paper: 224)" in card["reported"]["differences"]
    assert "Confounded tasks: nn-strict" in page.read_text()


def test_a_family_shares_its_ceiling_and_has_a_page(family, quick):
    cards, page = report_family(family, ["nn-strict", "nn-disjoint", "nn-unconfounded", "nesy-strict"])
    assert page == family / "family.html"
    assert cards["nn-strict"]["ceiling"]["mean"] == pytest.approx(0.96)
    assert cards["nn-strict"]["ceiling"]["source"] == "study nn-unconfounded"
    assert cards["nn-unconfounded"]["ceiling"] is None
    alone, _ = report_study(ResultsFolder(family / "nn-strict"))
    assert alone["methods"] == cards["nn-strict"]["methods"]
    shutil.rmtree(family / "nn-strict" / "runs")  # handed on without them: the timeline tells the same
    assert report_study(ResultsFolder(family / "nn-strict"))[0]["methods"] == alone["methods"]
    text = Reader(page.read_text()).text
    for words in (
        "nn-unconfounded: trained on the unconfounded set, the model reaches 96.0 % on it.",
        "disjoint NN er measured 100.0 99.6 100.0 100.0 99.6 50.1 confounded",
        "disjoint NN er reported 100.0 99.6 100.0 100.0 99.6 50.1",
        "NN nn-unconfounded 96.0 97.0 ± 0.44 1",
    ):
        assert words in text, words
    assert 'href="nn-strict/report.html"' in page.read_text()
    claims = {(row[1].text, row[0].text): row[3].text for row in claims_table(cards).rows}
    assert claims["joint training finds the ground truth", "nn-strict"] == "yes"
    assert claims["cumulative training stays far below joint training", "nn-strict"] == "yes"
    assert claims[EVERY_METHOD, "nn-disjoint"] == "yes"
    assert claims["naive training and EWC forget old tasks", "nn-disjoint"] == "yes"
    assert claims["replay and cumulative training keep old tasks", "nn-disjoint"] == "yes"
    assert claims["with replay, unconfounded images stay near chance", "nn-strict"] == "open"


def test_a_ceiling_of_another_question_is_none(family, quick):
    """Pictures from a folder have the rules that it was made with."""
    folder = ResultsFolder(family / "nn-unconfounded")
    facts = {"variant": "unconfounded", "confounders": [], "ground_truth": "sphere"}
    write_json(folder.proof_file, {"stream": "concon", "facts": facts, "checks": []})
    cards, _ = report_family(family, ["nn-strict", "nn-disjoint", "nn-unconfounded"])
    assert cards["nn-strict"]["ceiling"] is None


def test_report_and_score_know_this_kind(family, quick, monkeypatch, capsys):
    def said(*words):
        monkeypatch.setattr("sys.argv", ["einstellung", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, capsys.readouterr()

    code, printed = said("report", family)
    assert code == 0
    assert "nn-strict: insidiously confounded: naive and cumulative" in printed.out
    assert f"report: {family / 'family.html'}" in printed.out
    logs = family / "nn-strict" / "runs"
    code, printed = said("score", logs, "--json")
    card = json.loads(printed.out)
    assert (card["kind"], card["tau"], card["variant"]) == ("confounding", 0.9, None)
    code, printed = said("score", logs, "--tau", "0.8", "--out", family / "out")
    assert "joint" in printed.out
    assert json.loads((family / "out" / "score.json").read_text())["tau"] == 0.8
    code, printed = said("score", logs, "--variant", "guide")
    assert code == 2
    assert "has no meaning for timelines of confounded tasks" in printed.err


@pytest.mark.parametrize("gone", ["unconfounded_", "T2_negative"])
def test_what_was_not_measured_is_undecided_and_not_drawn(tmp_path, quick, monkeypatch, gone):
    frame = study(three_tasks()).frame
    timeline = Timeline(frame[~frame["split"].str.startswith(gone)].reset_index(drop=True))
    card = confounding_score(timeline)
    assert {record["verdict"]["name"] for record in card["methods"].values()} == {"undecided"}
    html = write_confounding_report(tmp_path, timeline, card).read_text()
    assert "1 check failed: read this before the numbers." in Reader(html).text
    monkeypatch.undo()
    why = catalogue._plans(timeline, card, None)["unconfounded"].why
    assert (why is None) == (gone != "unconfounded_")
