"""``einstellung view`` in Chromium: the list, a study that runs beside it, studies side by side, on any screen."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from einstellung.files import write_json, write_text
from einstellung.results.config import FORMAT
from einstellung.visible import visible
from tests.view.conftest import Client, serving
from tests.view.studies import write_study

from .conftest import HOSTILE, REPOSITORY, Browser, PageFile

PATIENCE = 150.0  # the machine may be busy
TINY = {
    "name": "tiny",
    "stream": {"name": "shapes", "size": 12, "train_per_class": 8, "test_per_class": 2},
    "backbone": {"name": "resnet18", "width": 2},
    "training": {"epochs": [1, 16], "batch_size": 8, "precision": "fp32", "kernels": "torch"},
    "methods": ["scratch_t2", "sgd"],
    "seeds": [1],
}
FOLDER = "<img src=x onerror=alert(1)> \u202e\"&'#%2f"
SHARE, HABIT = "0/share-0.8", "0/habit-same"
ADDRESS = {"list": "", "study": f"#/study/{SHARE}", "compare": f"#/compare/{SHARE},{HABIT}"}
READY = {
    "list": "return /^[0-9]+ of [0-9]+ shown$/.test(document.querySelector('[role=status].small')?.textContent)",
    "study": "return document.querySelector('.lead') && document.querySelector('.chart svg')",
    "compare": "return document.querySelector('td .difference')",
}
#: Notes, at every change, the time and the latest epoch that is shown of every method.
NOTE_EPOCHS = """window.noted = []; performance.setResourceTimingBufferSize(10000);
const look = () => window.noted.push([Date.now() / 1000, Object.fromEntries(
  [...document.querySelectorAll('[aria-label="Latest values"] tbody tr')].map(row => [row.cells[0].textContent,
    Math.max(...[...row.cells].slice(1).map(cell => Number(/ at ([0-9.]+)/.exec(cell.textContent)?.[1] ?? -1)))]))]);
new MutationObserver(look).observe(document.getElementById('main'), {subtree: true, childList: true}); look();"""
REQUESTS = """return performance.getEntriesByType('resource').map(entry =>
  [entry.startTime, entry.responseEnd].map(moment => (performance.timeOrigin + moment) / 1000))"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, hostile: PageFile) -> Iterator[Client]:
    """Two real studies, a small one in a folder with a hostile name, logs of hostile methods, and a damaged folder."""
    root = tmp_path_factory.mktemp("view") / "results"
    for name in ("share-0.8", "habit-same"):
        skipped = shutil.ignore_patterns("figures", "tables", "probes")
        shutil.copytree(REPOSITORY / "studies" / "cifar100-share" / name, root / name, ignore=skipped)
    write_study(root / FOLDER, seeds=(1,))
    write_json(root / "logs" / "score.json", hostile.scored.to_json())
    write_text(root / "damaged" / "config.yaml", json.dumps({"format": FORMAT, "methods": ["sgd"], HOSTILE[1]: 1}))
    write_text(root / "damaged" / "score.json", "{")
    with serving(root) as started:
        yield started


def until(browser: Browser, code: str) -> Any:
    """What the page answers, once it is something."""
    end = time.monotonic() + PATIENCE
    while not (found := browser.run(code)):
        assert time.monotonic() < end, f"still not so: {code}\n{browser.text('body')}"
        time.sleep(0.05)
    return found


def show(browser: Browser, client: Client, place: str, **screen: Any) -> None:
    browser.visit(client.server.address + ADDRESS[place], **screen)
    until(browser, READY[place])


def listed(browser: Browser) -> set[str]:
    """The folders of the studies that are in view."""
    items = "[...document.querySelectorAll('.studies li')].filter(item => item.checkVisibility())"
    return set(browser.run(f"return {items}.map(item => (item.querySelector('.path, .damaged .name')).textContent)"))


def test_the_search_filters_the_list(browser: Browser, client: Client):
    show(browser, client, "list")
    every = {f"results/{name}" for name in ("share-0.8", "habit-same", visible(FOLDER), "logs", "damaged")}
    assert listed(browser) == every
    search = browser.driver.find_element("css selector", "input[type=search]")
    for words, found in (
        ("HABIT-same", {"results/habit-same"}),
        ("finished results", every - {"results/logs", "results/damaged"}),
        ("scored", {"results/logs"}),
        ("no such study", set()),
        ("<img", {f"results/{visible(FOLDER)}", "results/logs", "results/damaged"}),
    ):
        search.clear()
        search.send_keys(words)
        assert listed(browser) == found, words
        assert browser.text("[role=status].small") == f"{len(found)} of 5 shown"


def test_a_damaged_folder_is_one_grey_line_with_its_reason(browser: Browser, client: Client):
    show(browser, client, "list")
    (why,) = [row["why"] for row in client.json("api/studies")["studies"] if row["kind"] == "damaged"]
    assert "onerror" in why
    assert browser.text(".studies .damaged") == f"results/damaged: {why}"
    style = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    assert (
        browser.run(style, ".damaged", "color")
        == browser.run(style, ".age", "color")
        != browser.run(style, "body", "color")
    )
    assert browser.run("return document.querySelectorAll('.damaged a, .damaged input').length") == 0


def test_hostile_names_are_text(browser: Browser, client: Client):
    """A dialog would make every further call fail."""
    show(browser, client, "list")
    browser.screenshot("view-list-hostile")
    browser.driver.find_element("xpath", "//li[contains(., 'alert(1)')]//a").click()
    until(browser, READY["study"])
    assert visible(FOLDER) in browser.run("return document.getElementById('main').textContent")
    browser.visit(client.server.address + "#/study/0/logs")
    until(browser, "return document.querySelector('.lead')")
    rows = "return [...document.querySelectorAll('table.data tbody th')].map(cell => cell.textContent)"
    assert set(browser.run(rows)) == {"scratch_t2", *map(visible, HOSTILE)}
    browser.visit(client.server.address + f"#/compare/{SHARE},0/logs")
    assert set(map(visible, HOSTILE)) < set(until(browser, rows))
    assert browser.run("return [window.broken ?? null, document.querySelectorAll('main img, main script').length]") == [
        None,
        0,
    ]
    assert browser.problems() == []


class Written(threading.Thread):
    """Watches a study's files: when each epoch of each run's T2 was on disk."""

    def __init__(self, study: Path) -> None:
        super().__init__(daemon=True)
        self.study, self.times, self.ended = study, dict[tuple[str, float], float](), threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.02):
            for path in self.study.glob("runs/*/live.csv"):
                try:
                    with path.open(encoding="utf-8") as file:
                        changed, text = os.fstat(file.fileno()).st_mtime, file.read()
                except FileNotFoundError:
                    continue  # finished meanwhile
                for row in csv.DictReader(io.StringIO(text)):
                    if row["phase"] == "T2":
                        self.times.setdefault((row["method"], float(row["epoch"])), changed)


def test_a_running_study_is_shown_live(browser: Browser, tmp_path: Path):
    write_text(tmp_path / "tiny.yaml", json.dumps(TINY))
    root = tmp_path / "results"
    root.mkdir()
    command = [sys.executable, "-c", "from einstellung.cli import main; main()", "run", "--workers", "1"]
    written = Written(root / "tiny")
    with serving(root) as client, (tmp_path / "log").open("w") as log:
        browser.visit(client.server.address)
        study = subprocess.Popen(
            [*command, str(tmp_path / "tiny.yaml"), "--out", str(written.study)], stdout=log, stderr=log
        )
        written.start()
        try:
            until(browser, "return document.querySelector('.studies .state.running')")
            browser.run("document.querySelector('.studies a').click()")
            browser.run(NOTE_EPOCHS)
            until(
                browser,
                "return window.noted.at(-1)[1].scratch_t2 >= 1 && document.querySelector('h2')?.textContent === 'Verdict so far'",
            )
            assert "running" in browser.text(".state")
            assert "seed 1" in browser.text("[aria-label=Progress]")
            until(browser, "return window.noted.at(-1)[1].sgd >= 4")
            browser.screenshot("view-running")
            until(browser, "return document.querySelector('h1 ~ p .state.finished')")
            until(browser, "return document.querySelector('h2')?.textContent === 'Verdict'")
            noted, requests = browser.run("return window.noted"), browser.run(REQUESTS)
            assert browser.run("return document.querySelector('[aria-label=Progress]')") is None
            assert noted[-1][1] == {"scratch_t2": 16, "sgd": 16}
            browser.screenshot("view-finished")
        finally:
            written.ended.set()
            study.terminate()
            study.wait()
    lags, idle = [], []
    for (method, epoch), moment in written.times.items():
        if moment < noted[0][0]:
            continue  # before the page was opened
        shown = next(when for when, epochs in noted if epochs.get(method, -1) >= epoch)
        answering = sum(max(0.0, min(end, shown) - max(start, moment)) for start, end in requests)
        lags.append(shown - moment)
        idle.append(shown - moment - answering)
    print(f"{len(lags)} measurements, shown after at most {max(lags):.2f} s, {max(idle):.2f} s of it between requests")
    assert len(lags) >= 12
    assert max(lags) < 30
    assert max(idle) < 2  # how long requests take is the machine's affair; how long the page waits is its own
    assert browser.problems() == []


def test_studies_side_by_side_have_the_server_s_numbers(browser: Browser, client: Client):
    show(browser, client, "list")
    assert not browser.driver.find_element("css selector", ".button").is_enabled()
    for name in ("share-0.8", "habit-same"):
        browser.driver.find_element("css selector", f"[aria-label='compare results/{name}']").click()
    browser.driver.find_element("css selector", ".button").click()
    until(browser, READY["compare"])
    keys = browser.run("return location.hash").removeprefix("#/compare/").split(",")
    assert set(keys) == {SHARE, HABIT}
    browser.run(  # one after the other: each click makes the boxes anew
        "let box; while ((box = document.querySelector('fieldset input:not(:checked)'))) box.click()"
    )
    told = client.json(f"api/compare?study={keys[0]}&study={keys[1]}")
    shown = browser.run(
        "return [...document.querySelectorAll('[aria-label^=Methods] tbody tr')].map(row =>"
        "[...row.querySelectorAll('td:not(.text)')].map(cell => cell.innerText))"
    )
    assert len(shown) == 2 * len(told["rows"])
    compared = 0
    for place, cells in enumerate(shown):
        facets = told["rows"][place // 2]["facets"]
        for text, facet in zip(cells, told["facets"], strict=True):
            cell = facets[facet["name"]][place % 2]
            difference = cell.get("difference") or {}
            values = [cell["mean"], cell["sd"], difference.get("value"), *(difference.get("ci95") or ())]
            numbers = [float(one.replace("\u2212", "-")) for one in re.findall(r"[\u2212+]?\d+\.\d{3}", text)]
            assert numbers == pytest.approx([value for value in values if value is not None], abs=0.000501), text
            compared += len(numbers)
    assert compared > 50


def test_a_comparison_begins_once_there_is_something_to_compare(browser: Browser, tmp_path: Path):
    write_study(tmp_path / "results" / "one")
    late = write_study(tmp_path / "results" / "late", scored=False)
    shutil.move(late / "runs", tmp_path / "runs")
    (late / "runs").mkdir()
    with serving(tmp_path / "results") as client:
        browser.visit(client.server.address + "#/compare/0/one,0/late")
        until(browser, "return document.querySelector('h1')?.textContent === 'Nothing to show'")
        assert browser.text("main .banner") == "results/late: nothing is measured yet"
        (late / "runs").rmdir()
        shutil.move(tmp_path / "runs", late / "runs")
        until(browser, READY["compare"])
        assert browser.text("h1") == "Side by side"


@pytest.mark.parametrize("place", ADDRESS)
def test_a_phone_never_scrolls_sideways(browser: Browser, client: Client, place: str):
    show(browser, client, place, width=390, height=844)
    browser.open_all()
    browser.screenshot(f"view-{place}-390")
    assert browser.run("return [innerWidth, document.scrollingElement.scrollWidth]") == [390, 390]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("place", ADDRESS)
def test_everybody_can_read_it(browser: Browser, client: Client, place: str, dark: bool):
    show(browser, client, place, dark=dark)
    browser.open_all()
    browser.screenshot(f"view-{place}-{'dark' if dark else 'light'}")
    assert browser.violations() == []
    ground = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground)[:3])) < 200) is dark
