"""The report of a finished study: scoring, tables, every figure in three formats, sheets of images, the page.

The study is as large as the preset `paper`, with synthetic curves and drawn images: the measurement is about rendering.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from matplotlib.figure import Figure

from benchmarks.measuring import Spread, core_seconds, row, wall_seconds
from benchmarks.score import timeline
from einstellung.diagnoses.contract import Evidence
from einstellung.diagnoses.reporting import Scored, write_report
from einstellung.diagnoses.rigidity.diagnosis import Rigidity
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from einstellung.files import write_bytes
from einstellung.report.figures import canvas, plan
from einstellung.report.table_formats import write_table
from einstellung.report.tables import Table
from einstellung.results.run_files import RunFiles, run_folder
from einstellung.timeline import Run, Timeline

METHODS, SEEDS, EPOCHS = 7, 5, 50


def measure(short: bool) -> dict[str, Any]:
    repeats = 1 if short else 7
    study = f"{METHODS} methods x {SEEDS} seeds x {EPOCHS} epochs"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        logs = folder / "timeline.csv"
        timeline(METHODS, SEEDS, EPOCHS).to_csv(logs, index=False)
        whole = [] if short else [wall_seconds(lambda: typed(logs, folder / "typed")) for _ in range(3)]
        parts: dict[str, list[float]] = defaultdict(list)
        for name, seconds in (entry for _ in range(repeats + 1) for entry in report_parts(logs, folder).items()):
            parts[name].append(seconds)
    spreads = {name: Spread.of(seconds[1:]) for name, seconds in parts.items()}  # the first call pays for fonts
    rows = [row(f"the whole report, {study}, core-seconds", spreads["whole"].words())]
    if whole:
        rows.append(row(f"`einstellung score --out`, the whole process, {study}", Spread.of(whole).words(2, "s")))
    rows += [row(f"{name}, core-seconds", spread.words(3)) for name, spread in spreads.items() if name != "whole"]
    return {"rows": rows, "core_seconds": {name: seconds[1:] for name, seconds in parts.items()}}


def typed(logs: Path, out: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.einstellung_command", "score", str(logs), "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True)


def report_parts(logs: Path, folder: Path) -> dict[str, float]:
    """Core-seconds of the report and of its parts, sample sheet and a generator's pictures included."""
    found: dict[str, float] = {}
    log = Timeline.read_many([logs])
    found["scoring"] = core_seconds(lambda: scored(Evidence(log)))

    def tables() -> None:
        for name, table in without_files.diagnosis.tables(without_files.card).items():
            if isinstance(table, Table):
                write_table(folder / "tables", name, table)

    without_files = scored(Evidence(log))
    found["all tables in Markdown, LaTeX and CSV"] = core_seconds(tables)
    generator = log.runs[-1]
    write_images(folder, generator)
    with_images = replace(without_files, evidence=Evidence(log, runs=RunFiles(folder, (generator,))))
    with clocked_figures() as clock:
        found["whole"] = core_seconds(lambda: write_report(folder / "report", with_images))
    return found | clock


def scored(evidence: Evidence) -> Scored:
    return Scored(Rigidity(), evidence, Rigidity().score(evidence, RigiditySettings()))


@contextmanager
def clocked_figures() -> Iterator[dict[str, float]]:
    """Core-seconds of every figure from the end of the one before it (the first: with its preparations), and by format."""
    found: dict[str, float] = defaultdict(float)
    save, render = canvas.save, canvas.render
    last = time.process_time()

    def clocked_save(figure: Figure, folder: Path, name: str) -> dict[str, bytes]:
        nonlocal last
        files = save(figure, folder, name)
        now = time.process_time()
        found[f"figure {name}, drawn and saved in three formats"] = now - last
        last = now
        return files

    def clocked_render(figure: Figure, kind: str) -> bytes:
        begin = time.process_time()
        content = render(figure, kind)
        found[f"all figures as {kind.upper()}"] += time.process_time() - begin
        return content

    with mock.patch.object(plan, "save", clocked_save), mock.patch.object(canvas, "render", clocked_render):
        yield found


def write_images(folder: Path, generator: Run) -> None:
    """A sheet as a study leaves it, and the pictures of a run with a generator."""
    from einstellung.experiments.samples import image_archive

    draws = np.random.default_rng(0)
    images = {name: _noise(draws, 8) for name in ("original", "patched", "masked", "raw", "augmented")}
    generated = run_folder(folder, generator) / "pictures.npz"
    write_bytes(
        folder / "samples.npz", image_archive(images, captions=np.array([f"class {number}" for number in range(8)]))
    )
    generated.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(generated, image_archive({"generated": _noise(draws, 64)}))


def _noise(draws: np.random.Generator, count: int) -> Any:
    import torch

    return torch.from_numpy(draws.integers(0, 256, (count, 3, 32, 32), dtype=np.uint8))
