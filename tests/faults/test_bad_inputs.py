"""A slice of the campaign's bad inputs in this very process: each is answered as all of them are by ``make faults``."""

from __future__ import annotations

import resource
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from einstellung.cli import main
from einstellung.diagnoses.reporting import report_study
from einstellung.experiments.study import prepare_study, run_study
from einstellung.guide.command import main as guide_main
from einstellung.report.figures import canvas
from einstellung.results.config import build_config
from einstellung.results.folder import ResultsFolder
from tests.experiments import in_process  # noqa: F401 (registers the launcher)
from tests.faults.bad_inputs import Case, light_cases, verdict
from tests.faults.commands import Done
from tests.faults.material import Material, make_material
from tests.faults.studies import TINY

NAMES = (
    "score: 20,000 columns",
    "import: 20,000 columns",
    "gate: 20,000 columns",
    "score: zeros in a group",
    "score: many zeros in a group",
    "score: a long number in a group",
    "score: seed of 5,000 digits",
    "score: JSON 100,000 deep",
    "score: a pipe",
    "run: training.epochs=1000000",
    "run: training.epochs=1000001",
    "run: training.epochs=1000000000000, dry",
    "run: alias bomb",
    "run: 500 deep in brackets",
    "run: self-reference",
    "run: a key twice",
    "run: --set seeds, 5,000 digits",
    "run: stream.size=-1",
    "validate: stream.validation=0.99",
    "concon perceive --lr: 'nan'",
    "concon perceive --lr: 'inf'",
    "concon perceive --lr: '-inf'",
    "concon perceive --epochs: 'nan'",
    "data composites make: --data: missing",
    "demo: --out, empty",
    "demo: --launcher none",
    "run: --ray-address auto",
    "report: family.yaml names folders outside",
    "report: proof.json, other types",
    "report: proof.json, a list",
    "report: runs/scratch_t2-seed1/predictions.csv is a folder",
    "audit: a model that exits with 0",
    "guide: --output_dir",
)


@pytest.fixture(scope="module")
def cases(tmp_path_factory) -> Mapping[str, Case]:
    root = tmp_path_factory.mktemp("faults")
    material = make_material(root / "material")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(canvas, "render", _not_drawn)
        _make_study(material)
    return {case.name: case for case in light_cases(material, root / "cases")}


def _make_study(material: Material) -> None:
    values = {**TINY, "methods": ["scratch_t2", "sgd"], "learners": {}, "seeds": [1], "launcher": "in_process"}
    prepared, out = prepare_study(build_config(values)), material.root / "study"
    with ResultsFolder(out).in_use():
        run_study(prepared, out, 1, "a test")
        report_study(ResultsFolder(out))


@pytest.fixture
def empty(tmp_path, monkeypatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EINSTELLUNG_DATA", "")
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_answered_in_short_lines_in_bounded_time_and_memory(name, cases, empty, monkeypatch, capfd):
    case = cases[name]
    case.prepare()
    monkeypatch.setattr(canvas, "render", _not_drawn)
    monkeypatch.setattr(sys, "argv", ["einstellung", *map(str, case.words)])
    begun, before = time.process_time(), _peak()
    with pytest.raises(SystemExit) as stopped:
        (guide_main if case.entry == "guide" else main)()
    seconds, said = time.process_time() - begun, capfd.readouterr()
    grown = _peak() - before
    done = Done((), int(stopped.value.code or 0), said.out, said.err, seconds, seconds, grown)
    assert verdict(case, done, sorted(path.name for path in empty.iterdir())) == [], said.err[-500:]


def _not_drawn(figure: Figure, kind: str) -> bytes:
    """Most of a report's time, and no input is read for it."""
    return b"<svg></svg>" if kind == "svg" else b""


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
