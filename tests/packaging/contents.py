"""What a wheel must hold, and the small timeline that an installed one is tried with."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def source_files() -> set[str]:
    """Every file of the package in this checkout, code and data, as a wheel names it."""
    return {
        file.relative_to(ROOT).as_posix()
        for file in (ROOT / "einstellung").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def wheel_files(wheel: Path) -> dict[str, str]:
    """Name -> SHA-256 of every file in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def timeline_text() -> str:
    """Two methods, three seeds: sgd is two epochs sooner than scratch_t2 and loses more with the cue covered."""
    rows = ["method,seed,phase,epoch,split,acc,loss,n"]
    for method, lead, kept in (("scratch_t2", 0, 0.7), ("sgd", 2, 0.3)):
        for seed in (1, 2, 3):
            for epoch in range(1, 9):
                accuracy = min(0.1 * (epoch + lead) + 0.002 * seed, 0.95)
                for split, value in (("T2_shortcut_normal", accuracy), ("T2_shortcut_masked", accuracy * kept)):
                    rows.append(f"{method},{seed},T2,{epoch},{split},{value:.4f},1.0,500")
    return "\n".join(rows) + "\n"
