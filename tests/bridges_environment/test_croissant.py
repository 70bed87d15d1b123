"""Croissant's own validator accepts the metadata of a made folder, and its reader finds every picture by them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import mlcroissant
import pytest

from einstellung.scenes.dataset_writer import write_dataset
from einstellung.scenes.manifest import DatasetSpec
from einstellung.scenes.rules import PAPER_RULES
from einstellung.scenes.summary import write_descriptions
from einstellung.scenes.work_chunks import RenderSettings


@pytest.fixture(scope="module")
def metadata(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("made")
    spec = DatasetSpec(
        RenderSettings(PAPER_RULES, 16, 0, "torch"), ("disjoint", "unconfounded"), {"train": 3, "val": 1, "test": 2}
    )
    write_descriptions(root, write_dataset(spec, root, 1, lambda done, total: None), PAPER_RULES)
    return root / "croissant.json"


def test_the_validator_accepts_the_metadata(metadata):
    command = [sys.executable, "-m", "mlcroissant.scripts.validate", "--jsonld", str(metadata)]
    validated = subprocess.run(command, capture_output=True, text=True)
    assert validated.returncode == 0, validated.stderr


def test_the_reader_finds_every_picture(metadata):
    found = mlcroissant.Dataset(jsonld=str(metadata))
    assert not found.metadata.ctx.issues.errors
    lines = []
    for one in found.records("pictures"):
        values = {key.split("/")[-1]: value for key, value in one.items()}
        assert values.pop("image").size == (16, 16)
        words = [value.decode() if isinstance(value, bytes) else str(value) for value in values.values()]
        lines.append(" ".join(words))
    assert len(lines) == 48
    assert min(lines).endswith("case_disjoint_main/test/images/t0/0/000000.png case_disjoint_main test 0 0")
