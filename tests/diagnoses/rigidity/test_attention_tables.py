"""Attention in the report of a results folder: tables, page, score.json; and no word of it where nobody asked."""

from __future__ import annotations

import csv
import json

import pytest

from einstellung.diagnoses.reporting import report_study
from einstellung.diagnoses.rigidity.attention_tables import NOT_PROOF, attention_head_table, attention_table
from einstellung.diagnoses.rigidity.figures import catalogue
from einstellung.files import write_json
from einstellung.report.figures import plan
from einstellung.report.table_formats import to_latex, to_markdown
from einstellung.results.config import build_config
from einstellung.results.folder import ResultsFolder
from einstellung.timeline import Timeline
from tests.report.html_reader import HtmlReader

from .attention_made import PULLS, write_attention
from .hand_made import timeline_frame

SEEDS = (1, 2)


@pytest.fixture(autouse=True, scope="module")
def quick():
    """How figures look is looked at elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "save", lambda figure, folder, name: {"svg": b"<svg/>"})
        patch.setattr(catalogue, "_drawings", lambda *inputs: {})
        yield


def finished(path):
    """Three methods with two seeds."""
    folder = ResultsFolder(path)
    folder.write_config(
        build_config({"name": "by hand", "diagnosis": "rigidity", "methods": list(PULLS), "seeds": list(SEEDS)})
    )
    frame = timeline_frame(seeds=SEEDS, epochs=2)
    for method in PULLS:
        for seed in SEEDS:
            run = folder.path / "runs" / f"{method}-seed{seed}"
            write_json(run / "status.json", {"state": "finished"})
            Timeline(frame[(frame["method"] == method) & (frame["seed"] == seed)]).write(run / "timeline.csv")
    return folder


@pytest.fixture
def results(tmp_path):
    return finished(tmp_path / "results")


@pytest.fixture(scope="module")
def reported(tmp_path_factory, quick):
    """A whole report with attention: folder, card, page."""
    folder = finished(tmp_path_factory.mktemp("attention") / "results")
    with_attention(folder)
    return folder, *reported_by(folder)


def reported_by(folder):
    done = report_study(folder)
    return done.scored.card, done.page


def with_attention(results, methods=tuple(PULLS)):
    for method in methods:
        for seed in SEEDS:
            write_attention(results.path / "runs" / f"{method}-seed{seed}", method, seed)


def test_without_attention_there_is_no_word_of_it(results):
    card, page = reported_by(results)
    assert card.attention is None
    assert not any("attention" in warning for warning in card.warnings)
    text = HtmlReader(page.read_text()).text
    assert "attention" not in text[: text.index("Where this comes from")].lower()  # the configuration says null
    assert not list(results.path.glob("tables/attention*"))


def test_attention_enters_score_tables_and_page(reported):
    results, card, page = reported
    stored = json.loads((results.path / "score.json").read_text())["attention"]
    assert stored == card.attention.model_dump(mode="json")
    assert list(stored["methods"]["sgd"]["per_seed"]) == ["1", "2"]
    for name in ("attention", "attention_heads"):
        assert all((results.path / f"tables/{name}.{kind}").exists() for kind in ("md", "tex", "csv"))
    rows = list(csv.DictReader((results.path / "tables/attention_heads.csv").open()))
    assert len(rows) == 3 * 2 * 3  # methods, layers, two heads and their mean
    assert float(rows[0]["SAG_mean"]) == stored["methods"][rows[0]["method"]]["heads"][0]["SAG"]["mean"]
    html = page.read_text()
    reader = HtmlReader(html)
    assert reader.open == []
    assert {"attention", "attention_epochs", "attention_heads", "attention_maps_sgd"} <= set(reader.ids)
    assert "#attention" in reader.links
    section = reader.text[reader.text.index(NOT_PROOF) :]
    assert section.index("Attention on the cue") < section.index("Attention on the cue's box over time")
    assert section.index("Attention maps of sgd") < section.index("Statistics")
    assert html.count('id="attention_maps_sgd"') == 1


def test_a_row_holds_attention_and_masked_accuracy(reported):
    _, card, _ = reported
    table = attention_table(card, card.attention)
    assert table.head == (
        *("method", "AS cue", "AS clean", "AS masked", "SAG", "CTAS", "CTAS own", "ADI"),
        *("SC patched", "SC masked"),
    )
    cells = {row[0].text: row for row in table.rows}
    own = card.attention.methods["sgd"].rollout
    assert cells["sgd"][1].text == f"{own.AS_cue.mean:.3f} ± {own.AS_cue.sd:.3f}"
    assert cells["sgd"][4].text == f"+{own.SAG.mean:.2f} ± {own.SAG.sd:.2f}"
    masked = card.methods["sgd"].SC_mask
    assert cells["sgd"][9].text == f"{masked.mean:.3f} ± {masked.sd:.3f}"
    assert (cells["scratch_t2"][5].text, cells["scratch_t2"][5].why) == (
        "–",
        "no phase T1 ended before T2 began, so there is no earlier map",
    )
    values = {row["method"]: row for row in table.values}
    assert values["sgd"]["CTAS_own_mean"] == own.CTAS_own.mean
    assert values["scratch_t2"]["CTAS_mean"] is None
    assert "(a) no phase T1 ended before T2 began" in to_markdown(table)
    assert r"$^{a}$ no phase T1 ended before T2 began" in to_latex(table, label="attention")
    heads = attention_head_table(card, card.attention)
    assert [cell.text for cell in heads.rows[2][1:3]] == ["1", "mean"]


def test_a_run_without_its_files_is_named_where_others_have_them(results):
    with_attention(results, ("sgd",))
    (results.path / "runs/sgd-seed2/attention.npz").unlink()
    card, page = reported_by(results)
    warnings = [warning for warning in card.warnings if "attention" in warning]
    assert warnings == [
        *(f"runs/derpp-seed{seed}/attention.csv is missing; attention leaves derpp seed {seed} out" for seed in SEEDS),
        *(
            f"runs/scratch_t2-seed{seed}/attention.csv is missing; attention leaves scratch_t2 seed {seed} out"
            for seed in SEEDS
        ),
        "runs/sgd-seed2/attention.npz is missing; maps and CTAS leave sgd seed 2 out",
    ]
    assert list(card.attention.methods) == ["sgd"]
    assert [row[0].text for row in attention_table(card, card.attention).rows] == ["sgd"]
    assert "runs/derpp-seed1/attention.csv is missing" in page.read_text()


def test_a_figure_that_cannot_be_drawn_is_named_in_its_own_section(results):
    with_attention(results)
    for method in PULLS:
        for seed in SEEDS:
            (results.path / f"runs/{method}-seed{seed}/attention.npz").unlink()
    _, page = reported_by(results)
    text = HtmlReader(page.read_text()).text
    reason = "Not drawn: Attention maps of sgd (no examples with their maps were stored"
    assert text.index(NOT_PROOF) < text.index(reason)
    assert text.count(reason) == 1
