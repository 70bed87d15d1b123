"""One report for all tests of this folder (it takes seconds)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from einstellung.diagnoses.confounding.card import ConfoundingCard
from einstellung.diagnoses.confounding.diagnosis import Confounding
from einstellung.diagnoses.confounding.figures import plans
from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.reporting import Scored, write_report
from einstellung.files import write_bytes, write_json
from einstellung.report.figures import plan
from einstellung.report.figures.canvas import render, settle
from einstellung.results.config import build_config
from einstellung.results.family import write_family
from einstellung.results.folder import ResultsFolder
from einstellung.results.run_files import RunFiles
from einstellung.timeline import Timeline

from .confounded import CONFOUNDERS, both, card_of, figure_6_ends, joint_ends, papers_config, study, three_tasks

PROOF = {
    "stream": "concon",
    "facts": {
        "protocol": "confounded tasks",
        "variant": "strict",
        "confounders": list(CONFOUNDERS),
        "ground_truth": "sphere and small cube",
        "tasks": 3,
        "input_modality": "pixels",
    },
    "checks": [{"name": "every scene satisfies the rule of its task and label", "passed": True, "detail": "9 scenes"}],
}


@dataclass(frozen=True)
class Written:
    """A report on disk and what it was made from."""

    folder: Path
    timeline: Timeline
    card: ConfoundingCard
    html: str


def save_as_svg(figure, folder, name):
    """All formats hold the same; one takes a third of the time."""
    settle(figure)
    content = render(figure, "svg")
    write_bytes(folder / f"{name}.svg", content)
    return {"svg": content}


def write_samples(path: Path, without: tuple[str, ...] = ()) -> Path:
    kinds = ("", "_paired", "_twin")
    names = [f"T{task}_{label}{kind}" for task in (1, 2, 3) for label in ("positive", "negative") for kind in kinds]
    names += ["unconfounded_positive", "unconfounded_negative"]
    images = {name: np.full((8, 16, 16, 3), 10 * place, dtype=np.uint8) for place, name in enumerate(names)}
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **{name: image for name, image in images.items() if name not in without})
    return path


def write_page(folder: Path, timeline: Timeline, card: ConfoundingCard, title: str = "x", **evidence) -> str:
    """The page as HTML text, written into ``folder``, whose sample images it shows."""
    evidence = Evidence(timeline, runs=RunFiles(folder), **evidence)
    scored = Scored(Confounding(), evidence, card)
    page = write_report(folder, scored, title=title, provenance={"command": "einstellung run"})
    return page.read_text(encoding="utf-8")


@pytest.fixture
def svg_only(monkeypatch):
    monkeypatch.setattr(plan, "save", save_as_svg)


@pytest.fixture
def quick(monkeypatch):
    """Figures are not what is looked at here."""
    monkeypatch.setattr(plans, "plan_figures", lambda *inputs: [])
    monkeypatch.setattr(plan, "save", lambda figure, folder, name: {"svg": b"<svg/>"})


@pytest.fixture(scope="session")
def written(tmp_path_factory) -> Written:
    folder = tmp_path_factory.mktemp("confounded")
    write_samples(folder / "samples.npz")
    timeline = study(three_tasks(), spread=0.01)
    card = card_of(timeline)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "save", save_as_svg)
        html = write_page(
            folder,
            timeline,
            card,
            title="A & B <strict>",
            proof=PROOF,
            config=papers_config("stream.size=64", "stream.path=<strict>"),
        )
    return Written(folder, timeline, card, html)


@pytest.fixture
def family(tmp_path) -> Path:
    """Three finished studies with one seed and a study that has not begun."""
    members = {
        "nn-strict": ("strict", three_tasks(), list(CONFOUNDERS)),
        "nn-disjoint": ("disjoint", figure_6_ends() | joint_ends(1.0, 0.5), list(CONFOUNDERS)),
        "nn-unconfounded": ("unconfounded", {"naive": {"T1": both(T1=0.97, unconfounded=0.96)}}, []),
    }
    for name, (variant, ends, confounders) in members.items():
        folder = ResultsFolder(tmp_path / name)
        values = {"stream": {"name": "concon", "variant": variant, "size": 64}, "diagnosis": "confounding"}
        folder.write_config(build_config({"name": name, "methods": list(ends), "seeds": [1], **values}))
        facts = {"variant": variant, "confounders": confounders, "ground_truth": "sphere and small cube"}
        write_json(folder.proof_file, {"stream": "concon", "facts": facts, "checks": []})
        for method in ends:
            run = folder.path / "runs" / f"{method}-seed1"
            write_json(run / "status.json", {"state": "finished"})
            study({method: ends[method]}, seeds=(1,)).write(run / "timeline.csv")
    write_family(tmp_path, [*members, "nesy-strict"])
    return tmp_path


@pytest.fixture(scope="session")
def card() -> ConfoundingCard:
    return card_of(study(three_tasks(), spread=0.01))
