"""The page: self-contained, complete, honest about what is missing or failed."""

from __future__ import annotations

import base64
import json
import re

import jsonschema
import pytest

from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.reporting import Scored, write_report
from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.diagnosis import Rigidity
from einstellung.diagnoses.rigidity.tables import table_one
from einstellung.hashes import unsealed
from einstellung.report.notation import epochs, number
from einstellung.timeline import Timeline
from tests.report.html_reader import HtmlReader

from .hand_made import scorecard, seed, timeline_frame, typed


class Undrawn(Rigidity):
    """How figures look is looked at elsewhere."""

    def figures(self, evidence, card):
        return ()


@pytest.fixture
def page_of(tmp_path):
    """The page of plain values."""

    def made(values):
        scored = Scored(Undrawn(), Evidence(Timeline(timeline_frame())), typed(values))
        return write_report(tmp_path, scored).read_text(encoding="utf-8")

    return made


def test_the_page_asks_for_nothing_from_outside(written):
    reader = HtmlReader(written.html)
    assert reader.loads
    assert all(load.startswith("data:") for load in reader.loads)
    assert all(link.startswith("#") for link in reader.links)
    assert not re.search(r"https?://|//[a-z]+\.|@import|url\(", written.html.replace(reader.code, ""))
    assert "default-src 'none'" in written.html


def test_tags_close_ids_are_unique_and_links_lead_somewhere(written):
    reader = HtmlReader(written.html)
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))
    assert {link[1:] for link in reader.links} <= set(reader.ids)


def test_figures_are_the_files_next_to_the_page(written):
    inlined = {base64.b64decode(uri) for uri in re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', written.html)}
    assert inlined == {path.read_bytes() for path in (written.folder / "figures").glob("*.svg")}
    alts = re.findall(r'<img src="data:image/svg[^>]*alt="([^"]*)"', written.html)
    assert len(alts) == 10
    assert all(len(alt) > 40 for alt in alts)


def test_every_facet_of_the_scorecard_is_on_the_page(written):
    text = HtmlReader(written.html).text
    for method in ("sgd", "derpp"):
        for facet in ("AD", "PD", "SFR_rel", "CSR_rel", "delta", "delta_S"):
            estimate = written.card.methods[method].facet(facet)
            if estimate.mean is None:
                continue
            show = epochs if facet == "AD" else number
            assert f"{show(estimate.mean, signed=True)} ± {show(estimate.sd)}" in text, (method, facet)
            low, high = (show(bound, signed=True) for bound in estimate.ci95)
            assert f"[{low}, {high}]" in text, (method, facet)
    for cell in (cell for row in table_one(written.card).rows for cell in row):
        assert cell.text in text


def test_undefined_is_a_dash_with_its_reason(written):
    text = HtmlReader(written.html).text
    assert "– τ = 0.60 not reached by derpp in seeds" in text
    assert written.card.methods["derpp"].AD.mean is None
    assert not re.search(r"\b(nan|NaN|None|inf)\b", text)


def test_failed_checks_come_first_and_loud(written):
    text = HtmlReader(written.html).text
    assert "1 check failed: read this before the numbers." in text
    assert written.html.index("mask covers the patch") < written.html.index('class="lead"')
    section = text[text.index("Verification of the stream") :]
    assert section.index("FAILED") < section.index("passed")
    assert "3 of 600 masks lie beside it" in section


def test_names_and_titles_are_escaped(written, page_of):
    assert "<h1>A &amp; B &lt;report&gt;</h1>" in written.html
    assert "note: &lt;demo&gt;" in written.html
    name = "<img src=x onerror=alert(1)>"
    html = page_of(scorecard({"scratch_t2": {"1": seed(8, 0.6, 0.4)}, name: {"1": seed(4, 0.7, 0.3)}}))
    assert name not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html


def test_chance_splits_and_provenance_are_shown(written):
    text = HtmlReader(written.html).text
    for words in (
        "chance over the whole head 0.02778",
        "accuracy reachable from the cue alone 0.1667",
        "T2_shortcut_masked the same images, cue covered 500 images all 3",
        "command einstellung demo",
        "torch 2.13.0",
        "git commit –",
        "at the last epoch of phase 2",
        "smoothed by a trailing mean over 3 epochs",
    ):
        assert words in text, words


def test_captions_say_what_was_measured(written):
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", written.html, re.S)
    over_time = [caption for caption in captions if "phase 2," in caption or "effective epochs" in caption]
    assert len(over_time) >= 4
    assert all("500 images" in caption and "3 seeds per method (42, 43, 44)" in caption for caption in over_time)
    assert all("trailing mean over 3 epochs" in caption for caption in over_time)


@pytest.mark.parametrize(("seeds", "warned"), [(("1", "2"), True), (("1", "2", "3"), False)])
def test_fewer_than_three_seeds_are_announced(seeds, warned, page_of):
    runs = {
        name: {label: seed(4, value, 0.3) for label in seeds} for name, value in (("scratch_t2", 0.6), ("sgd", 0.7))
    }
    assert ("Fewer than three seeds: not enough to tell." in page_of(scorecard(runs))) == warned


def test_a_pattern_is_a_word_not_only_a_colour(card, page_of):
    text = HtmlReader(page_of(card)).text
    assert "red-flag: shortcut-induced rigidity" in text
    assert "ambiguous: undecided" in text


@pytest.mark.parametrize(("certainty", "coloured"), [("holds", True), ("leans", False), ("too few seeds", False)])
def test_only_a_certain_pattern_has_a_coloured_badge(card, page_of, certainty, coloured):
    card["methods"]["ewc_on"] |= {"pattern": "red-flag", "certainty": certainty}
    card["methods"]["ewc_on"] |= {"high_rigidity": True, "high_rigidity_certainty": certainty}
    (own,) = re.findall(r'<details class="card"[^>]*data-method="ewc_on">.*?</details>', page_of(card), re.S)
    badges = {words: kind for kind, words in re.findall(r'<span class="pill ?([^"]*)">(.*?)</span>', own)}
    colour = "red-flag" if coloured else ""
    assert badges == {
        "red-flag: shortcut-induced rigidity": colour,
        f"high rigidity, {certainty}": colour,
    }


def test_a_floor_below_another_pattern_has_a_badge_without_colour(card, page_of):
    badge = '<span class="pill">masked accuracies at the floor</span>'
    assert badge not in page_of(card)
    card["methods"]["ewc_on"] |= {"pattern": "cue-harmful", "saturated": True}
    assert badge in page_of(card)
    card["methods"]["ewc_on"] |= {"pattern": "saturated"}
    html = page_of(card)
    assert badge not in html
    assert "saturated: both models depend on the cue alone" in HtmlReader(html).text


def test_the_error_rate_stands_below_the_verdict(card, page_of):
    card["methods"]["ewc_on"] |= {"verdict": "What ewc_on does.", "error_rate": "False in 1 of 100 <studies>."}
    text = HtmlReader(page_of(card)).text
    assert text.index("What ewc_on does.") < text.index("False in 1 of 100 <studies>.")


def test_what_the_cue_does_besides_has_its_section(card, page_of):
    assert 'id="besides"' not in page_of(card)
    found = {"method": "ewc_on", "kind": "pull", "value": 0.3, "ci95": [0.2, 0.4], "n": 3, "text": "put on <others>"}
    card["besides"] = [found, found | {"text": "alone", "ci95": None}]
    html = page_of(card)
    text = HtmlReader(html).text
    assert html.index('id="besides"') > html.index('id="cards"')
    assert "Put on <others>: +0.300 95 % [+0.200, +0.400], n = 3" in text
    assert "Alone: +0.300" in text


def test_the_floor_is_among_the_conditions(card, page_of):
    assert "floor of masked accuracies 0.050, 3 times chance (1/60)" in HtmlReader(page_of(card)).text


def test_what_decided_is_written_with_its_bound(card, page_of):
    card["methods"]["ewc_on"]["conditions"] = [
        {"facet": "AD", "relation": "<=", "bound": -1.0, "value": -5.0, "met": True, "sure": None},
        {"facet": "SFR_rel", "relation": "|.| <", "bound": 0.02, "value": 0.003, "met": True, "sure": False},
        {"facet": "PD", "relation": ">=", "bound": 0.02, "value": None, "met": None, "sure": None},
    ]
    text = HtmlReader(page_of(card)).text
    assert "AD −5.0 ≤ −1.0: met (no interval)" in text
    assert "+0.003 within ±0.020: met (interval crosses the threshold)" in text
    assert "PD – ≥ +0.020: undefined" in text
    assert "AD has n = 2; at least 3 needed" in text


def test_a_card_has_a_badge_where_nothing_was_learned(card, page_of):
    badge = "shortcut classes not learned, even with the cue"
    assert badge not in HtmlReader(page_of(card)).text
    card["methods"]["ewc_on"]["unlearned"] = True
    assert HtmlReader(page_of(card)).text.count(badge) == 1


def test_one_seed_is_counted_once_per_value(page_of):
    text = HtmlReader(page_of(scorecard({name: {"1": seed(4, 0.6, 0.3)} for name in ("scratch_t2", "sgd")}))).text
    assert "no interval, n = 1" in text
    assert "n = 1: no interval, n = 1" not in text


def test_warnings_of_the_scorecard_are_shown(card, page_of):
    card["warnings"] = ["seed 3 & others <odd>"]
    html = page_of(card)
    assert "Worth knowing" in html
    assert "seed 3 &amp; others &lt;odd&gt;" in html


def test_score_json_obeys_its_schema(written):
    stored = json.loads((written.folder / "score.json").read_text())
    schema = RigidityCard.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(stored, schema)
    assert RigidityCard.model_validate(unsealed(stored)) == written.card
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(stored | {"kind": "confounding"}, schema)


def test_the_scorecard_lies_next_to_the_page(written):
    assert unsealed(json.loads((written.folder / "score.json").read_text())) == written.card.to_json()
    tables = {path.name for path in (written.folder / "tables").iterdir()}
    names = (
        "table1",
        "facets",
        "floor",
        "delays",
        "seeds",
        "incremental",
        "mcnemar",
        "cue_effect",
        "cue_effect_seeds",
        "reported",
    )
    assert tables == {f"{name}.{kind}" for name in names for kind in ("md", "tex", "csv")}
    assert not list(written.folder.rglob("*.writing*"))


def test_single_images_have_their_section(written):
    text = HtmlReader(written.html).text
    section = text[text.index("Per image", text.index("Method by method verdict")) :]
    assert section.index("Effects of the cue") < section.index("Masked against patched, per image")
    # Four images: one right under both, three only with the cue; p = 2 / 2**3; nine runs, so Holm gives 1.
    assert "sgd 43 4 1 3 0 0 0.250 1.000" in section
    assert (
        "sgd 1.000 ± 0.000 0.750 ± 0.000 0.250 ± 0.000 0.500 ± 0.000 0.250 ± 0.000 0.750 ± 0.000 +0.500 ± 0.000"
        in section
    )


def test_reported_and_measured_values_share_a_table(written):
    text = HtmlReader(written.html).text
    section = text[text.index("method quantity reported measured seeds measured") :]
    assert "sgd PD +0.028 ± 0.020 −" in section
    assert "Table I. Measured: this study." in section


def test_what_could_not_be_made_says_why(card, page_of):
    text = HtmlReader(page_of(card)).text
    assert "Not shown: Effects of the cue (these results have no stored per-image predictions)." in text
    assert "Not shown: Class-incremental and task-incremental accuracy (the timeline has no column acc_task)." in text
    assert "reported" not in text


def test_pictures_of_a_learner_are_shown_with_their_origin(written):
    text = HtmlReader(written.html).text
    caption = "Images from derpp. Images generated or stored by derpp, seed 42: generated (32 of 40)."
    assert (
        text.index("Sample images") < text.index(caption) < text.index("What it was measured on", text.index(caption))
    )
