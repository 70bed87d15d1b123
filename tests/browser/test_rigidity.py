"""The page of the rigidity index in Chromium: what is chosen there gives what Python gives."""

from __future__ import annotations

import json
import math
import shlex
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from einstellung.cli import cli
from einstellung.diagnoses.rigidity.answer import answer
from einstellung.diagnoses.rigidity.diagnosis import Rigidity
from einstellung.diagnoses.rigidity.forest import make_forest
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from einstellung.report.markup import typeset

from .conftest import Browser, PageFile


def scored(page: PageFile, methods: list[str] | None = None, seeds: list[int] | None = None, **settings: Any) -> Any:
    """What Python says of the page's evidence with other settings."""
    own = page.scored.card
    same = {
        "tau": own.tau,
        "window": own.window,
        "smoothing": own.smoothing,
        "final": own.final,
        "margins": own.margins,
    }
    evidence = page.scored.evidence.only(methods, seeds)
    return Rigidity().score(evidence, RigiditySettings(**{**same, **settings}))


def shown(card: Any) -> dict[str, list[str]]:
    """The table of methods as the page should show it."""
    forest = make_forest(card.baseline_first())
    return {
        row.method: [
            row.verdict,
            row.certainty,
            *(row.values[column.key].text if column.key in row.values else "" for column in forest.columns),
        ]
        for row in forest.rows
    }


def assert_same(ours: Any, theirs: Any, path: str = "") -> None:
    """Equal up to 1e-9."""
    if isinstance(ours, dict):
        assert set(ours) == set(theirs), path
        for key in ours:
            assert_same(ours[key], theirs[key], f"{path}/{key}")
    elif isinstance(ours, list):
        assert len(ours) == len(theirs), path
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(one, other, f"{path}/{place}")
    elif isinstance(ours, float) and isinstance(theirs, int | float):
        assert math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9), path
    else:
        assert ours == theirs, path


CHOICES = [
    ({"tau-range": 0.5}, {"tau": 0.5}),
    ({"tau": 0.35, "window": 5, "smoothing": "centred"}, {"tau": 0.35, "window": 5, "smoothing": "centred"}),
    ({"margin-AD": 3, "margin-PD": 0.1, "margin-SFR": 0.25}, {"margins": "3,0.1,0.25"}),
    ({"baseline": "sgd", "smoothing": "none"}, {"baseline": "sgd", "smoothing": "none"}),
    ({"final": "last"}, {"final": "last"}),
]


@pytest.mark.parametrize(("controls", "settings"), CHOICES)
def test_controls_give_what_python_gives(browser: Browser, share: PageFile, controls, settings):
    browser.open(share)
    for id_, value in controls.items():
        browser.set(id_, value)
    card = scored(share, **settings)
    expected, found = shown(card), browser.table()
    assert {method: row[:2] for method, row in found.items()} == {method: row[:2] for method, row in expected.items()}
    for method, row in expected.items():
        assert [text for text in found[method][2:] if text] == [text for text in row[2:] if text], method
    assert browser.text("#answer .lead") == typeset(answer(card.baseline_first())[0]).striptags()
    assert "changed" in browser.text("#settings-status")
    assert browser.problems() == []


def test_a_lower_threshold_turns_a_verdict(browser: Browser, demo: PageFile):
    """Moving tau must be able to change a word on the page, or the slider shows nothing."""
    browser.open(demo)
    before = {method: row[0] for method, row in browser.table().items()}
    words = {0.2: None, 0.95: None}
    for tau in words:
        browser.set("tau-range", tau)
        words[tau] = {method: row[0] for method, row in browser.table().items()}
        assert words[tau] == {method: row[0] for method, row in shown(scored(demo, tau=tau)).items()}
    assert any(found != before for found in words.values())


def test_back_to_the_study_gives_the_study(browser: Browser, share: PageFile):
    browser.open(share)
    first, lead = browser.table(), browser.text("#answer")
    assert first == shown(share.scored.card)
    browser.set("tau-range", 0.4)
    browser.set("window", 1)
    assert browser.table() != first
    browser.driver.find_element(By.ID, "reset").click()
    assert browser.table() == first
    assert browser.text("#answer") == lead
    assert "the study's settings" in browser.text("#settings-status")
    assert not browser.run("return document.querySelectorAll('.stale').length")


def test_what_the_browser_cannot_score_says_so(browser: Browser, share: PageFile):
    browser.open(share)
    assert not browser.run("return document.querySelectorAll('.stale').length")
    browser.set("tau-range", 0.5)
    stale = set(browser.run("return [...document.querySelectorAll('.stale[id]')].map(node => node.id)"))
    assert {"corroboration", "images", "figures", "tables", "statistics"} <= stale
    assert not {"cards", "curves", "delays", "gallery"} & stale
    note = browser.run("return getComputedStyle(document.querySelector('#images > summary'), '::after').content")
    assert "as in the study" in note


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tau": 0.5, "window": 1},
        {"margins": {"AD": 2, "PD": 0.05}, "smoothing": "centred"},
        {"methods": ["scratch_t2", "sgd", "gpm"], "seeds": [42, 123, 456]},
        {"baseline": "gpm", "final": "last"},
    ],
)
def test_the_page_offers_the_score_itself(browser: Browser, share: PageFile, settings):
    browser.open(share)
    found = browser.run("return JSON.stringify(window.einstellung.score(arguments[0]))", settings)
    own = dict(settings)
    if "margins" in own:
        own["margins"] = {**share.scored.card.margins.model_dump(), **own["margins"]}
    card = scored(share, own.pop("methods", None), own.pop("seeds", None), **own).to_json()
    page = json.loads(found)
    if settings:  # what rests on other files than the timeline stays as in the study, and is named
        assert "corroboration" in browser.run("return window.einstellung.asInStudy")
        for of in (page, card):
            del of["corroboration"], of["warnings"]
    assert_same(page, card)


def test_the_command_on_the_page_gives_its_numbers(browser: Browser, share: PageFile, monkeypatch):
    browser.open(share)
    browser.set("tau-range", 0.45)
    browser.set("margin-PD", 0.05)
    for box in browser.driver.find_elements(By.CSS_SELECTOR, "#settings fieldset input[value=derpp]"):
        browser.run("arguments[0].click()", box)
    program, verb, *words = shlex.split(browser.text("#command"))
    assert (program, verb) == ("einstellung", "score")
    monkeypatch.chdir(share.path.parent)
    done = CliRunner().invoke(cli, [verb, *words, "--json"], catch_exceptions=False)
    card = json.loads(done.stdout)
    assert set(card["methods"]) == set(browser.table()) == {"scratch_t2", "ewc_on", "gpm", "sgd"}
    for method, row in browser.table().items():
        if method != "scratch_t2":
            assert [card["methods"][method]["pattern"], row[1]] == [
                row[0],
                card["methods"][method]["certainty"] or "",
            ] or row[1] == ""
    chosen = {"tau": 0.45, "margins": {"PD": 0.05}, "methods": ["scratch_t2", "ewc_on", "gpm", "sgd"]}
    page = json.loads(browser.run("return JSON.stringify(window.einstellung.score(arguments[0]))", chosen))
    assert_same(page["methods"]["sgd"]["conditions"], card["methods"]["sgd"]["conditions"])
    assert_same(page["methods"]["sgd"]["p_holm"], card["methods"]["sgd"]["p_holm"])


def test_filters_show_less_and_choices_score_less(browser: Browser, share: PageFile):
    browser.open(share)
    before = browser.table()
    browser.set("filter-method", "G")
    assert set(browser.table()) == {"gpm", "sgd"}
    assert browser.table()["gpm"] == before["gpm"]
    assert "2 of 5 shown" in browser.text("#filter-count")
    assert "over 4 methods" in browser.text("#settings-status")
    assert (
        browser.run("return [...document.querySelectorAll('#forest text')].map(node => node.textContent)").count(
            "derpp"
        )
        == 0
    )
    browser.set("filter-method", "")
    browser.set("filter-verdict", "shared-shortcut")
    assert set(browser.table()) == {"sgd"}
    browser.set("filter-verdict", "")
    browser.run("document.querySelector('#settings fieldset input[value=derpp]').click()")
    assert set(browser.table()) == {"scratch_t2", "ewc_on", "gpm", "sgd"}
    assert "over 3 methods" in browser.text("#settings-status")
    assert browser.table() == shown(scored(share, ["scratch_t2", "ewc_on", "gpm", "sgd"]))


def test_a_choice_that_cannot_be_scored_is_refused_in_words(browser: Browser, share: PageFile):
    browser.open(share)
    before = browser.table()
    browser.set("tau", 1.5)
    assert "tau" in browser.text("#settings-problem")
    assert browser.table() == before
    browser.set("tau", 0.6)
    assert browser.run("return document.getElementById('settings-problem').hidden")


def test_columns_sort_both_ways_and_the_plot_follows(browser: Browser, share: PageFile):
    browser.open(share)
    button = browser.driver.find_element(By.CSS_SELECTOR, "#methods-table th[data-key=SFR_rel] button")
    means = {
        method: record.SFR_rel.mean
        for method, record in share.scored.card.methods.items()
        if record.SFR_rel.mean is not None
    }
    rising = sorted(means, key=lambda method: means[method])
    button.click()
    assert list(browser.table()) == [*rising, "scratch_t2"]
    button.send_keys(Keys.ENTER)
    assert list(browser.table()) == [*reversed(rising), "scratch_t2"]
    names = browser.run("return [...document.querySelectorAll('#forest text')].map(node => node.textContent)")
    assert [name for name in names if name in means] == [*reversed(rising)]
    assert button.find_element(By.XPATH, "..").get_attribute("aria-sort") == "descending"


def test_the_threshold_moves_in_the_curve(browser: Browser, share: PageFile):
    browser.open(share, at="#curves")
    slider = "#curves-chart [role=slider]"
    assert browser.driver.find_element(By.CSS_SELECTOR, slider).get_attribute("aria-valuenow") == "0.6"
    browser.drag(browser.point(slider), 0, 40)
    dragged = float(browser.run("return document.getElementById('tau').value"))
    assert 0.3 < dragged < 0.59
    assert browser.table() == shown(scored(share, tau=dragged))
    browser.run("document.querySelector('#curves-chart [role=slider]').focus()")
    ActionChains(browser.driver).send_keys(Keys.ARROW_UP, Keys.ARROW_UP).perform()
    assert math.isclose(float(browser.run("return document.getElementById('tau').value")), dragged + 0.02, abs_tol=1e-6)


def test_curves_hover_zoom_and_show_single_seeds(browser: Browser, share: PageFile):
    browser.open(share, at="#curves")
    lines = "return document.querySelectorAll('#curves-chart path[fill=none][stroke=currentColor]').length"
    assert browser.run(lines) == 5
    browser.run("document.getElementById('curve-seeds').click()")
    assert browser.run(lines) == 5 + 25
    browser.mouse("mouseMoved", *browser.point("#curves-chart svg", 0.6, 0.8))
    bubble = browser.text("#curves-chart .bubble")
    assert bubble.startswith("epoch ")
    assert "sgd 0." in bubble
    assert "(n 5)" in bubble
    whole = browser.run("return [...document.querySelectorAll('#curves-chart text')].map(node => node.textContent)")
    browser.drag(browser.point("#curves-chart svg", 0.4, 0.8), 150, 0)
    zoomed = browser.run("return [...document.querySelectorAll('#curves-chart text')].map(node => node.textContent)")
    assert zoomed != whole
    browser.run(
        "[...document.querySelectorAll('#curves-tools button')].find(one => one.textContent === 'Whole phase').click()"
    )
    assert (
        browser.run("return [...document.querySelectorAll('#curves-chart text')].map(node => node.textContent)")
        == whole
    )
    for curve in ("SC_mask", "delta", "PD", "SFR_rel", "NSC", "T1"):
        browser.set("curve-of", curve)
        assert browser.run("return document.querySelectorAll('#curves-chart .ink').length") >= 4
    assert browser.problems() == []


def test_curves_are_read_by_arrow_keys(browser: Browser, share: PageFile):
    browser.open(share, at="#curves")
    browser.run("document.querySelector('#curves-chart svg').focus()")
    ActionChains(browser.driver).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT).perform()
    said = browser.run("return document.querySelector('#curves-chart [role=status]').textContent")
    assert said.startswith("epoch 2: ")
    assert "scratch_t2 0." in said


def test_a_click_on_the_grid_of_delays_chooses_a_threshold(browser: Browser, share: PageFile):
    browser.open(share, at="#delays")
    browser.run(
        "[...document.querySelectorAll('#delay-grid th button')].find(one => one.textContent === 'τ 0.50').click()"
    )
    card = scored(share, tau=0.5)
    assert browser.table() == shown(card)
    cells = dict(
        browser.run(
            """return [...document.querySelectorAll('#delay-grid tbody tr')]
              .map(row => [row.cells[0].textContent, row.cells[5].textContent])"""
        )
    )
    assert cells["sgd"].startswith("−1.6")
    tip = browser.run("return document.querySelector('#delay-grid tbody td').dataset.tip")
    assert "effective epochs, n = " in tip


def test_cards_open_on_demand_and_follow(browser: Browser, share: PageFile):
    browser.open(share)
    assert not browser.run("return document.querySelector('details.card[data-method=derpp]').open")
    browser.driver.find_element(By.LINK_TEXT, "derpp").click()
    browser.driver.implicitly_wait(1)
    card = "details.card[data-method=derpp]"
    assert browser.run(f"return document.querySelector('{card}').checkVisibility()")
    own = browser.run(f"return document.querySelector('{card} .body').innerText")
    assert "Conditions for a red flag".upper() in own.upper()
    browser.set("tau-range", 0.5)
    sentence = scored(share, tau=0.5).methods["derpp"].verdict
    changed = browser.run(f"return document.querySelector('{card} .body').innerText")
    assert changed != own
    assert typeset(sentence).striptags() in changed


def test_the_gallery_finds_images_that_need_the_cue(browser: Browser, demo: PageFile):
    browser.open(demo, at="#gallery")
    browser.set("gallery-kind", "")
    assert len(browser.driver.find_elements(By.CSS_SELECTOR, "#gallery-images figure")) == 12
    assert "class <" in browser.text("#gallery-images figcaption")
    runs = browser.run("return [...document.querySelectorAll('#gallery-run option')].map(option => option.textContent)")
    browser.set("gallery-run", runs.index("sgd, seed 42"))
    counts = {}
    for kind in ("lost", "kept", "found", "neither"):
        browser.set("gallery-kind", kind)
        counts[kind] = len(browser.driver.find_elements(By.CSS_SELECTOR, "#gallery-images figure"))
    said = demo.scored.evidence.runs.predictions()[0][("sgd", 42)]
    index = browser.run(
        "return JSON.parse(document.getElementById('data').textContent).gallery.images.map(one => one.index)"
    )
    with_cue, without = (
        pd.Series(rows.prediction == rows.label, index=rows.index).loc[index]
        for rows in (said["T2_shortcut_normal"], said["T2_shortcut_masked"])
    )
    assert counts == {
        "lost": int((with_cue & ~without).sum()),
        "kept": int((with_cue & without).sum()),
        "found": int((~with_cue & without).sum()),
        "neither": int((~with_cue & ~without).sum()),
    }
    assert counts["lost"] > 0
    browser.set("gallery-kind", "")
    first = browser.run("return document.querySelectorAll('#gallery-class option')[1].value")
    browser.set("gallery-class", first)
    assert 0 < len(browser.driver.find_elements(By.CSS_SELECTOR, "#gallery-images figure")) < 12
