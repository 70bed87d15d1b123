"""Every number stays: cards and tables of the committed studies and of a demo run, against what an earlier version computed.

``reference/*.json.xz`` holds each study's ``score.json`` and tables as they were when verdicts got their floors and tests. A
value may be added, none may change or go; a change that is meant renews the file. ``python -m tests.test_reference`` prints
every difference.
"""

from __future__ import annotations

import json
import lzma
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from einstellung.diagnoses.reporting import Scored, score_folder
from einstellung.report.table_formats import to_csv
from einstellung.report.tables import Table
from einstellung.results.folder import ResultsFolder

ROOT = Path(__file__).parents[1]
REFERENCE = Path(__file__).parent / "reference"
STUDIES = [
    *("cifar100-two-phase", "cifar100-share/share-0.5", "cifar100-share/share-0.8", "cifar100-share/share-1"),
    "cifar100-share/habit-same",
    *("concon/narrow-net", "concon/quick", "concon/slots", "concon/nine-methods"),
    *("whac-a-mole/continual", "whac-a-mole/features", "whac-a-mole/narrow-net"),
    "demo",
]


def unpacked(study: str, into: Path) -> Path:
    """A copy of what a study's card is computed from."""
    if study == "demo":
        with tarfile.open(REFERENCE / "demo_runs.tar.xz") as archive:
            archive.extractall(into, filter="data")
        return into
    for file in (ROOT / "studies" / study).rglob("*"):
        if file.name in ("config.yaml", "proof.json", "family.yaml", "timeline.csv", "timeline.csv.xz"):
            copy = into / file.relative_to(ROOT / "studies" / study)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".xz":
                copy.with_suffix("").write_bytes(lzma.decompress(file.read_bytes()))
            else:
                shutil.copyfile(file, copy)
    return into


def computed(folder: Path) -> dict[str, Any]:
    """Cards and tables by their paths, as a report of the folder writes them; the folder's own name, in commands, is 'FOLDER'."""
    found: dict[str, Any] = {}
    for config in sorted(folder.rglob("config.yaml")):
        scored = score_folder(ResultsFolder(config.parent))
        place = config.parent.relative_to(folder)
        found[(place / "score.json").as_posix()] = json.loads(
            json.dumps(scored.to_json(), allow_nan=False).replace(str(config.parent), "FOLDER")
        )
        found |= {(place / "tables" / f"{name}.csv").as_posix(): text for name, text in tables(scored)}
    return found


def tables(scored: Scored) -> Iterator[tuple[str, str]]:
    for name, table in scored.diagnosis.tables(scored.card.baseline_first()).items():
        if isinstance(table, Table):
            yield name, to_csv(table)


def differences(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """Every value of ``old`` that ``new`` does not have, or has differently."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            yield from differences(value, new[key], f"{at}/{key}") if key in new else [f"{at}/{key} is gone"]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{at}/{place}")
    elif old != new:
        yield f"{at}: {old!r:.200} is now {new!r:.200}"


def compared(study: str, folder: Path) -> list[str]:
    """How what is computed now differs from the reference; a family's own tables are made by its page and not compared here."""
    reference = json.loads(lzma.decompress((REFERENCE / f"{study.replace('/', '_')}.json.xz").read_bytes()))
    if (ROOT / "studies" / study / "family.yaml").exists():
        reference = {name: value for name, value in reference.items() if not name.startswith("tables/")}
    return list(differences(reference, computed(unpacked(study, folder))))


@pytest.mark.parametrize("study", STUDIES)
def test_every_number_is_as_it_was(study, tmp_path):
    assert compared(study, tmp_path) == []


if __name__ == "__main__":
    found = 0
    for study in STUDIES:
        with tempfile.TemporaryDirectory() as folder:
            for difference in compared(study, Path(folder)):
                print(study, difference)
                found += 1
    print(f"{found} differences in {len(STUDIES)} studies")
    sys.exit(found > 0)
