"""The report of a finished study: scoring, tables, every figure in three formats, sheets of images, the page.

The study is as large as the preset `paper`, its curves are made up, its images drawn: what is measured is the drawing.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from einstellung.diagnoses.rigidity.table_catalogue import make_tables
from einstellung.report.writing import write_report
from matplotlib.figure import Figure

from benchmarks.measuring import Spread, core_seconds, row, wall_seconds
from benchmarks.score import timeline
from einstellung.diagnoses.rigidity.score import score
from einstellung.files import write_bytes
from einstellung.report.figures import canvas, catalogue
from einstellung.report.table_formats import write_table
from einstellung.results.run_files import RunPictures
from einstellung.timeline import Timeline

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
    card: dict[str, Any] = {}
    found["scoring"] = core_seconds(lambda: card.update(score(log).to_dict()))

    def tables() -> None:
        for name, table in make_tables(card, None)[0].items():
            write_table(folder / "tables", name, table)

    found["all tables in Markdown, LaTeX and CSV"] = core_seconds(tables)
    samples, pictures = sample_images(folder)
    with clocked_figures() as clock:
        found["whole"] = core_seconds(
            lambda: write_report(folder / "report", log, card, samples=samples, pictures=pictures)
        )
    return found | clock


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

    with mock.patch.object(catalogue, "save", clocked_save), mock.patch.object(canvas, "render", clocked_render):
        yield found


def sample_images(folder: Path) -> tuple[Path, list[RunPictures]]:
    """A sheet as a study leaves it, and the pictures of a generator."""
    from einstellung.experiments.samples import image_archive

    draws = np.random.default_rng(0)
    images = {name: _noise(draws, 8) for name in ("original", "patched", "masked", "raw", "augmented")}
    samples, generated = folder / "samples.npz", folder / "pictures.npz"
    write_bytes(samples, image_archive(images, captions=np.array([f"class {number}" for number in range(8)])))
    write_bytes(generated, image_archive({"generated": _noise(draws, 64)}))
    return samples, [RunPictures("dgr", 1, generated)]


def _noise(draws: np.random.Generator, count: int) -> Any:
    import torch

    return torch.from_numpy(draws.integers(0, 256, (count, 3, 32, 32), dtype=np.uint8))
