"""Confounded tasks and several shortcuts in Chromium: margins as controls, matrices and the plane of gaps with hover."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.confounding.answer import answer
from einstellung.diagnoses.confounding.diagnosis import Confounding
from einstellung.diagnoses.confounding.page import settings_of as confounding_settings
from einstellung.diagnoses.shortcuts.answer import make_answer
from einstellung.diagnoses.shortcuts.diagnosis import Shortcuts
from einstellung.diagnoses.shortcuts.page import settings_of as shortcuts_settings
from einstellung.report.markup import typeset

from .conftest import Browser, PageFile


def stop_of(browser: Browser, margin: float) -> int:
    stops = browser.run(
        "return JSON.parse(document.getElementById('data').textContent).margin.stops.map(stop => stop.margin)"
    )
    return stops.index(margin)


@pytest.mark.parametrize("margin", [0.02, 0.2, 0.45])
def test_another_margin_gives_what_python_gives(browser: Browser, concon: PageFile, margin):
    browser.open(concon, at="#verdicts")
    browser.set("margin", stop_of(browser, margin))
    settings = confounding_settings(concon.scored.card).model_copy(update={"margin": margin})
    card = Confounding().score(concon.scored.evidence, settings)
    assert {method: row[0] for method, row in browser.table().items()} == {
        method: record.verdict.name for method, record in card.methods.items()
    }
    assert (
        browser.text("#answer .lead")
        == typeset(answer(card.with_methods_in_order(list(concon.scored.card.methods)))[0]).striptags()
    )
    for method, record in card.methods.items():
        own = browser.run('return document.querySelector(`[data-sentence="${arguments[0]}"]`).textContent', method)
        assert own == typeset(record.verdict.sentence).striptags()
    assert f"margin: {margin}" in browser.text("#command")
    browser.run("document.getElementById('reset').click()")
    assert "as in the study" in browser.text("#settings-status")


def test_cells_of_a_matrix_tell_their_interval(browser: Browser, concon: PageFile):
    browser.open(concon, at="#matrices-by-phase")
    browser.mouse("mouseMoved", *browser.point("table.matrix td"))
    assert "naive after T1, positives of T1: " in browser.text("#tip")
    assert "n = 3" in browser.text("#tip")
    joint = browser.run(
        """const tables = [...document.querySelectorAll('table.matrix')];
        return tables.find(one => one.caption.textContent.startsWith('joint')).querySelectorAll('td.hatched').length;"""
    )
    assert joint == 8  # joint training has one phase


@pytest.mark.parametrize("margin", [0.0, 0.1])
def test_a_margin_of_several_shortcuts_gives_what_python_gives(browser: Browser, whac: PageFile, margin):
    browser.open(whac)
    browser.set("margin", stop_of(browser, margin))
    settings = shortcuts_settings(whac.scored.card).model_copy(update={"margin": margin})
    card = (
        Shortcuts()
        .score(whac.scored.evidence, settings)
        .with_methods_in_order(list(whac.scored.card.baseline_first().methods))
    )
    assert {method: row[0] for method, row in browser.table().items()} == {
        method: record.verdict.name for method, record in card.methods.items()
    }
    assert browser.text("#answer .lead") == typeset(make_answer(card)[0]).striptags()


def test_the_settings_of_a_card_give_it_again(concon: PageFile, whac: PageFile):
    for page, diagnosis, settings_of in (
        (concon, Confounding(), confounding_settings),
        (whac, Shortcuts(), shortcuts_settings),
    ):
        again = diagnosis.score(page.scored.evidence, settings_of(page.scored.card))
        assert again.with_methods_in_order(list(page.scored.card.methods)).to_json() == page.scored.card.to_json()


def test_the_plane_of_gaps_has_hover_and_follows_the_filter(browser: Browser, whac: PageFile):
    browser.open(whac, at="#gaps-at-a-glance")
    points = "return document.querySelectorAll('#plane-of-gaps .point').length"
    assert browser.run(points) == len(whac.scored.card.methods)
    browser.set("filter-method", "mixup")
    assert browser.run(points) == 1
    browser.run("document.querySelector('#plane-of-gaps .point').focus()")
    gap = 100 * whac.scored.card.end("mixup").own.gaps["background"].mean
    assert browser.text("#tip").startswith("mixup: undecided")
    assert f"BG gap {gap:+.1f}".replace("-", "−") in browser.text("#tip")
