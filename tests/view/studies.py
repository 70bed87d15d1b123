"""Results folders as runs leave them, without training."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from einstellung.diagnoses.reporting import score_folder
from einstellung.files import write_json, write_text
from einstellung.results.config import build_config
from einstellung.results.folder import ResultsFolder

SPLITS = ("T1_all", "T2_shortcut_normal", "T2_shortcut_masked", "T2_nonshortcut_normal", "T2_val")


def rows(method: str, seed: int, epochs: int, shift: float = 0.0) -> pd.DataFrame:
    """The T2 of one run; the same for the same arguments, and longer runs begin like shorter ones."""
    found = []
    for place, split in enumerate(SPLITS):
        draws = np.random.default_rng([seed, place, sum(map(ord, method)), round(1000 * abs(shift))])
        noise = draws.normal(0, 0.02, 100)[: epochs + 1]
        acc = np.clip(0.05 + shift + np.minimum(0.8, 0.15 * np.arange(epochs + 1)) + noise, 0, 1)
        found.append(pd.DataFrame({"epoch": np.arange(epochs + 1.0), "split": split, "acc": acc}))
    frame = pd.concat(found, ignore_index=True)
    return frame.assign(method=method, seed=seed, phase="T2", loss=1.0, n=100).sort_values("epoch", kind="stable")


def write_run(folder: Path, method: str, seed: int, epochs: int = 6, shift: float = 0.0) -> Path:
    run = folder / "runs" / f"{method}-seed{seed}"
    write_text(run / "timeline.csv", rows(method, seed, epochs, shift).to_csv(index=False))
    write_json(run / "status.json", {"state": "finished"})
    return run


def write_study(
    folder: Path,
    methods: tuple[str, ...] = ("scratch_t2", "sgd"),
    seeds: tuple[int, ...] = (1, 2, 3),
    scored: bool = True,
    shift: float = 0.0,
    **config: Any,
) -> Path:
    """A finished study; ``shift`` is added to the accuracies of every method but the baseline."""
    ResultsFolder(folder).write_config(build_config({"methods": methods, "seeds": seeds, **config}))
    write_json(folder / "proof.json", {"facts": {}})
    for method in methods:
        for seed in seeds:
            write_run(folder, method, seed, shift=shift * (method != "scratch_t2"))
    if scored:
        write_json(folder / "score.json", score_folder(ResultsFolder(folder), {}).to_json())
        write_text(folder / "report.html", "<!doctype html><script>document.title = 1</script>")
    return folder


def configure(folder: Path, seeds: tuple[int, ...]) -> None:
    """The same study with other seeds."""
    results = ResultsFolder(folder)
    results.write_config(results.config().model_copy(update={"seeds": seeds}))


def everything_in(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file with its bytes and the time of its last change; every folder with its own."""
    found = {}
    for path in sorted(folder.rglob("*")):
        content = path.read_bytes() if path.is_file() else b""
        found[os.fspath(path.relative_to(folder))] = (content, path.lstat().st_mtime_ns)
    return found
