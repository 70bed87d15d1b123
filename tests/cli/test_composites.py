"""``composites make`` as a command."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from einstellung.cli import cli
from einstellung.composites.published import read_published
from einstellung.errors import InputError
from tests.composites.small import source_folder

PHASE = (0.75, 0.75)
SETTINGS = {"size": 32, "seed": 0}
GROUP = "bg-0.75_co_occur_obj-0.75/train/obj-round_bg-blocks_co_occur_obj-plant"


def run(*arguments):
    return CliRunner().invoke(cli, ["data", "composites", "make", *map(str, arguments)])


def test_the_command_makes_a_folder(tmp_path):
    sources = source_folder(tmp_path / "mine", each=28)
    result = run("--sources", sources, "--size", 32, "--correlations", "0.75,0.75", "--out", tmp_path / "out", "--json")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["total"] == 56
    assert summary["settings"] == {"sources": "mine", "size": 32, "seed": 0, "correlations": [0.75, 0.75]}
    assert summary["labels"]["background"] == ["urban", "country"]
    read = read_published(tmp_path / "out", ((0.75, 0.75),), 32)
    assert {plan.name: read.counts(plan) for plan in read.plans}["T1"] == summary["images"]["train"]
    again = run("--sources", sources, "--size", 32, "--correlations", ".75,.75", "--out", tmp_path / "again")
    assert "56 images in" in again.stdout
    one, other = (
        {p.relative_to(root): p.read_bytes() for p in root.rglob("*.*g")}
        for root in (tmp_path / "out", tmp_path / "again")
    )
    assert one == other


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--correlations", "high"), "--correlations is 'high': give numbers"),
        (("--correlations", "0.9"), "give two numbers"),
        (("--correlations", "0.9,1.1"), "a correlation is 1.1"),
        (("--sources", "nobody"), "no sources 'nobody'"),
        (("--sources", "no/where"), "no such folder"),
        (("--data", "no/where"), "--data no/where: no such folder"),
        (("--train", "3"), "3 images per class are too few for 4 groups"),
    ],
)
def test_the_command_names_what_is_wrong_and_writes_nothing(tmp_path, arguments, words):
    result = run("--out", tmp_path / "out", "--size", 32, *arguments)
    assert isinstance(result.exception, InputError)
    assert words in str(result.exception)
    assert list(tmp_path.iterdir()) == []
