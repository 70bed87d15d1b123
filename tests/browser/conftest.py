"""Chromium for the tests of pages, and the pages themselves, made once from real studies and from hand-made ones."""

from __future__ import annotations

import base64
import lzma
import shutil
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.reporting import Scored, report_study, score_evidence, write_report
from einstellung.diagnoses.rigidity.diagnosis import Rigidity
from einstellung.files import write_bytes
from einstellung.report.figures import plan
from einstellung.report.figures.canvas import render, settle
from einstellung.results.folder import ResultsFolder
from einstellung.results.run_files import RunFiles
from einstellung.timeline import Timeline

REPOSITORY = Path(__file__).parents[2]
ARTEFACTS = Path(__file__).with_name("artefacts")
AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=1400,1100",
)


@dataclass(frozen=True)
class PageFile:
    """A page on disk, and what it was made from."""

    path: Path
    scored: Scored


class Browser:
    """Chromium with one page: what a test does to it and asks of it."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, page: PageFile, *, width: int = 1280, height: int = 900, dark: bool = False, at: str = "") -> None:
        self.visit(page.path.as_uri() + at, width=width, height=height, dark=dark)
        if at:
            time.sleep(0.3)  # a section draws when it hears that it was opened

    def visit(self, address: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        self.resize(width, height)
        features = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        wanted = [{"name": name, "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": wanted})
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get(address)

    def resize(self, width: int, height: int = 900) -> None:
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
        )

    def run(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    def set(self, id_: str, value: Any) -> None:
        """Choose a value as a person would, so that the page hears of it."""
        self.run(
            "const node = document.getElementById(arguments[0]); node.value = arguments[1];"
            "node.dispatchEvent(new Event('input', {bubbles: true}));",
            id_,
            str(value),
        )

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).innerText", selector)).strip()

    def scroll_to(self, selector: str) -> None:
        self.run(
            "document.querySelector(arguments[0]).scrollIntoView({block: 'center', behavior: 'instant'})", selector
        )

    def point(self, selector: str, across: float = 0.5, down: float = 0.5) -> tuple[float, float]:
        """A place on an element, as shares of its width and height, once it is in view."""
        self.scroll_to(selector)
        box = self.run("return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()", selector)
        return box["x"] + across * box["width"], box["y"] + down * box["height"]

    def mouse(self, kind: str, x: float, y: float, *, held: bool = False) -> None:
        pressed = {"button": "left", "buttons": 1, "clickCount": 1} if held or kind != "mouseMoved" else {}
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **pressed})

    def drag(self, start: tuple[float, float], across: float, down: float, steps: int = 4) -> None:
        x, y = start
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y)
        for step in range(1, steps + 1):
            self.mouse("mouseMoved", x + across * step / steps, y + down * step / steps, held=True)
        self.mouse("mouseReleased", x + across, y + down)

    def table(self) -> dict[str, list[str]]:
        """The table of methods as it is shown: verdict, certainty, then the text of every facet."""
        return dict(
            self.run(
                """return [...document.querySelectorAll('#methods-table tbody tr')].filter(row => !row.hidden).map(row => [
                  row.dataset.method, [...row.cells].slice(1, -1).map(cell =>
                    (cell.querySelector('.value') ?? cell).textContent.trim())])"""
            )
        )

    def open_all(self) -> None:
        self.run("document.querySelectorAll('details').forEach(node => node.open = true)")
        time.sleep(0.3)  # sections draw when they hear of it

    def problems(self) -> list[str]:
        """What the console complains of: errors of scripts, refused loads."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]

    def screenshot(self, name: str, *, most: int = 5000) -> None:
        height = min(most, self.run("return document.documentElement.scrollHeight"))
        clip = {"x": 0, "y": 0, "width": self.run("return innerWidth"), "height": height, "scale": 1}
        shot = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip}
        )
        self._keep(f"{name}.png", shot)

    def print(self, name: str) -> bytes:
        paper = {"printBackground": True, "paperWidth": 8.27, "paperHeight": 11.69}
        return self._keep(f"{name}.pdf", self.driver.execute_cdp_cmd("Page.printToPDF", paper))

    @staticmethod
    def _keep(name: str, found: dict[str, Any]) -> bytes:
        content = base64.b64decode(found["data"])
        ARTEFACTS.mkdir(exist_ok=True)
        (ARTEFACTS / name).write_bytes(content)
        return content

    def processor_time(self, code: str) -> float:
        """Seconds of processor time that the page's thread needs for some code, layout included, whatever else is running."""
        self.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        before = self._task_seconds()
        self.run(code)
        spent = self._task_seconds() - before
        self.driver.execute_cdp_cmd("Performance.disable", {})
        return spent

    def _task_seconds(self) -> float:
        found = self.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return float(next(one["value"] for one in found if one["name"] == "TaskDuration"))

    def violations(self, *rules: str) -> list[str]:
        """What axe-core finds against WCAG 2.2, levels A and AA, or against these rules."""
        self.run(AXE.read_text(encoding="utf-8"))
        found = self.driver.execute_async_script(
            """const [rules, done] = arguments;
            const levels = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
            axe.run({runOnly: rules.length ? rules : levels}).then(result =>
              done(result.violations.map(one => one.id + ': ' + one.nodes.slice(0, 4).map(node => node.html.slice(0, 160)
                + ' ' + (node.any[0] ? node.any[0].message : '')).join(' | '))));""",
            list(rules),
        )
        return list(found)


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.fail("no Chromium with its driver on the PATH; on Debian: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(chromedriver))
    started.set_script_timeout(60)
    yield started
    started.quit()


@pytest.fixture
def browser(driver: webdriver.Chrome) -> Browser:
    return Browser(driver)


def save_as_svg(figure: Figure, folder: Path, name: str) -> dict[str, bytes]:
    """What a page shows of a figure; the other formats take most of the time."""
    settle(figure)
    content = render(figure, "svg")
    write_bytes(folder / f"{name}.svg", content)
    return {"svg": content}


@pytest.fixture(scope="session", autouse=True)
def quick_figures() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "save", save_as_svg)
        yield


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], PageFile]:
    """The page of a finished study of the repository."""
    made: dict[str, PageFile] = {}

    def study(name: str) -> PageFile:
        if name not in made:
            folder = tmp_path_factory.mktemp("study") / "study"
            shutil.copytree(REPOSITORY / "studies" / name, folder, ignore=shutil.ignore_patterns("figures", "tables"))
            packed = folder / "timeline.csv.xz"
            if packed.exists():
                (folder / "timeline.csv").write_bytes(lzma.decompress(packed.read_bytes()))
            reported = report_study(ResultsFolder(folder))
            made[name] = PageFile(reported.page, reported.scored)
        return made[name]

    return study


@pytest.fixture(scope="session")
def share(make: Callable[[str], PageFile]) -> PageFile:
    return make("cifar100-share/share-0.8")


@pytest.fixture(scope="session")
def concon(make: Callable[[str], PageFile]) -> PageFile:
    return make("concon/quick")


@pytest.fixture(scope="session")
def whac(make: Callable[[str], PageFile]) -> PageFile:
    return make("whac-a-mole/narrow-net")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> PageFile:
    """A demo with predictions of single images, and images stored for some of them."""
    folder = tmp_path_factory.mktemp("demo")
    with tarfile.open(REPOSITORY / "tests" / "reference" / "demo_runs.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    run = next(iter(sorted((folder / "runs").iterdir())))
    said = pd.read_csv(run / "predictions.csv")
    known = said[said["split"] == "T2_shortcut_normal"].iloc[::7].head(12)
    images = np.random.default_rng(0).integers(0, 255, (len(known), 16, 16, 3), dtype=np.uint8)
    covered = images.copy()
    covered[:, :4, :4] = 0
    np.savez(
        folder / "samples.npz",
        **{
            f"{prefix}{name}": values
            for prefix in ("", "gallery_")
            for name, values in (("original", images), ("patched", images), ("masked", covered))
        },
        captions=np.array(["a"] * len(known)),
        gallery_index=known["index"].to_numpy(),
        gallery_labels=known["label"].to_numpy(),
        class_names=np.array([f"class <{number}>" for number in range(40)]),
    )
    reported = report_study(ResultsFolder(folder))
    return PageFile(reported.page, reported.scored)


class Unillustrated(Rigidity):
    """Figures for papers take seconds to draw, and are looked at elsewhere."""

    def figures(self, evidence: Evidence, card: Any) -> tuple[()]:
        return ()


def curves(methods: list[str], seeds: int, last: int, splits: dict[str, float]) -> pd.DataFrame:
    """Curves that rise with noise, the later and with the more reliance on the cue the further down a method stands."""
    random = np.random.default_rng(1)
    rows = []
    for place, method in enumerate(methods):
        for seed in range(1, seeds + 1):
            for epoch in range(last + 1):
                base = 0.85 * (1 - np.exp(-epoch / (8 + 0.3 * place)))
                for split, shift in splits.items():
                    acc = base + shift * (1 + 0.05 * place) + random.normal(0, 0.02)
                    rows.append((method, seed, "T2", epoch, split, float(np.clip(acc, 0, 1)), None, 500))
    return pd.DataFrame(rows, columns=["method", "seed", "phase", "epoch", "split", "acc", "loss", "n"])


SPLITS = {
    "T2_shortcut_normal": 0.0,
    "T2_shortcut_masked": -0.2,
    "T2_nonshortcut_normal": -0.05,
    "T1_all": 0.05,
    "T2_val": -0.01,
}


@pytest.fixture(scope="session")
def big(tmp_path_factory: pytest.TempPathFactory) -> PageFile:
    """100 runs (20 methods of 5 seeds) of 50 epochs."""
    methods = ["scratch_t2", *(f"method_{number:02d}" for number in range(19))]
    return written(tmp_path_factory.mktemp("big"), curves(methods, 5, 50, SPLITS), Rigidity())


HOSTILE = (
    "</script><script>window.broken = 1</script>",
    "<img src=x onerror='window.broken = 2'>",
    "\"quotes' & ampersands; --not-an-option",
    "\u202eright to left\u2069 \u200f",
    "__proto__",
    "7",
)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> PageFile:
    """Methods with names that would break out of a careless page."""
    frame = curves(["scratch_t2", *HOSTILE], 3, 12, SPLITS)
    return written(
        tmp_path_factory.mktemp("hostile"), frame, Unillustrated(), title="</title><script>window.broken = 3</script>"
    )


def written(folder: Path, frame: pd.DataFrame, diagnosis: Rigidity, title: str | None = None) -> PageFile:
    """The page of a frame; its timeline lies beside it, as the command on the page expects."""
    frame.to_csv(folder / "timeline.csv", index=False)
    timeline = Timeline.read_many([folder / "timeline.csv"])
    scored = score_evidence(diagnosis, Evidence(timeline, runs=RunFiles()), {})
    return PageFile(write_report(folder, scored, title=title), scored)
