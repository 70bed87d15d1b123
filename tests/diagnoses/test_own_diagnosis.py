"""A fourth diagnosis from a user's file goes through every verb, without a change to any file of the package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from einstellung.cli import cli
from einstellung.diagnoses.registry import diagnoses
from einstellung.errors import InputError

PLUGIN = Path(__file__).parents[2] / "examples" / "own_diagnosis.py"
STUDY = {
    "name": "own",
    "plugins": [str(PLUGIN)],
    "diagnosis": "forgetting",
    "score": {"margin": 0.05},
    "stream": {"name": "shapes", "size": 12, "train_per_class": 8, "test_per_class": 2},
    "backbone": {"name": "resnet18", "width": 8},
    "training": {"epochs": [1, 1], "batch_size": 16, "precision": "fp32"},
    "methods": ["sgd", "er"],
    "learners": {"er": {"buffer": 20, "draw": 4}},
    "seeds": [1, 2],
}


def einstellung(*words: object) -> str:
    done = CliRunner().invoke(cli, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    (folder / "own.yaml").write_text(yaml.safe_dump(STUDY))
    yield folder
    diagnoses._entries.pop("forgetting", None)


@pytest.fixture(scope="module")
def results(study):
    einstellung("run", study / "own.yaml", "--out", study / "results", "--workers", 1)
    return study / "results"


def test_validate_resolves_its_settings(study):
    shown = json.loads(einstellung("validate", study / "own.yaml", "--json"))
    assert shown["configuration"]["diagnosis"] == "forgetting"
    assert shown["configuration"]["score"] == {"baseline": None, "margin": 0.05}


def test_run_leaves_page_tables_figure_and_card(results):
    card = json.loads((results / "score.json").read_text())
    assert (card["kind"], card["margin"], card["methods"]["sgd"]["n_seeds"]) == ("forgetting", 0.05, 2)
    html = (results / "report.html").read_text(encoding="utf-8")
    assert "T1 lost in T2" in html
    assert 'id="forgetting"' in html  # the figure
    assert "Lost more than 5 points of T1" in html
    assert {file.name for file in (results / "figures").iterdir()} == {
        f"forgetting.{kind}" for kind in ("svg", "png", "pdf")
    }
    assert (results / "tables" / "forgetting.csv").read_text().startswith("method,lost\nsgd,")
    assert yaml.safe_load((results / "config.yaml").read_text())["diagnosis"] == "forgetting"


def test_report_needs_nothing_but_the_folder(results):
    (results / "report.html").unlink()
    text = einstellung("report", results)
    assert "Lost more than 5 points of T1" in text
    assert "T1 lost in T2" not in text.splitlines()[0]
    assert (results / "report.html").exists()


def test_score_as_named(results, study):
    words = ("score", results / "timeline.csv", "--plugin", PLUGIN, "--as", "forgetting")
    card = json.loads(einstellung(*words, "--margin", "0.2", "--json"))
    assert (card["kind"], card["margin"]) == ("forgetting", 0.2)
    einstellung(*words, "--out", study / "page")
    assert "Forgetting" in (study / "page" / "report.html").read_text(encoding="utf-8")
    assert json.loads(einstellung("score", results / "timeline.csv", "--json"))["kind"] == "rigidity"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--as", "forgetting", "--tau", "0.5"), "--tau is not a setting of the diagnosis 'forgetting'"),
        (("--as", "forgeting"), "unknown diagnosis 'forgeting': did you mean 'forgetting'?"),
        (("--as", "forgetting", "--margin", "much"), "--margin is much"),
    ],
)
def test_what_it_does_not_have_is_refused_by_name(results, words, message):
    with pytest.raises(InputError, match=message.replace("?", r"\?").replace("(", r"\(")):
        einstellung("score", results / "timeline.csv", "--plugin", PLUGIN, *words)


def test_ls_lists_it_with_its_settings(results):
    listed = {entry["name"]: entry for entry in json.loads(einstellung("ls", "diagnoses", "--json"))["diagnoses"]}
    assert {"rigidity", "confounding", "shortcuts", "guide", "forgetting"} <= set(listed)
    assert listed["forgetting"]["options"] == {"baseline": None, "margin": 0.1}
    assert listed["rigidity"]["options"]["tau"] == 0.6
