"""The diagnosis behind its contract: results folders, somebody's logs, and the command line."""

from __future__ import annotations

import json

import pytest

from einstellung.cli import main
from einstellung.diagnoses.confounding import diagnosis
from einstellung.diagnoses.reporting import report_study
from einstellung.results.folder import ResultsFolder


def test_the_registry_finds_it():
    kind = diagnosis()
    assert (kind.name, kind.title, kind.topic, kind.grouped) == (
        "confounding",
        "Confounded tasks",
        "confounded tasks",
        {"family"},
    )
    assert kind.recognises(["T1_val", "T1_positive"])
    assert not kind.recognises(["T2_val"])


def test_a_results_folder_of_this_kind_gets_this_report(family, quick):
    reported = report_study(ResultsFolder(family / "nn-strict"), siblings={})
    card = reported.scored.card
    assert (card.kind, card.variant, card.model) == ("confounding", "strict", "NN")
    assert list(card.methods) == ["scratch", "naive", "cumulative", "joint"]  # as they were asked for
    assert card.confounders == ("blue", "metal", "large")
    assert card.ceiling is None
    assert "stream.size 64 (paper: 224)" in card.reported.differences
    assert "Confounded tasks: nn-strict" in reported.page.read_text()


@pytest.fixture
def said(monkeypatch, capsys):
    def call(*words):
        monkeypatch.setattr("sys.argv", ["einstellung", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, capsys.readouterr()

    return call


def test_report_knows_a_family_of_this_kind(family, quick, said):
    code, printed = said("report", family)
    assert code == 0
    assert "nn-strict: confounded: scratch, naive and cumulative; not confounded: joint" in printed.out
    assert f"report: {family / 'family.html'}" in printed.out


def test_score_knows_this_kind(family, quick, said):
    logs = family / "nn-strict" / "runs"
    _, printed = said("score", logs, "--json")
    card = json.loads(printed.out)
    assert (card["kind"], card["tau"], card["variant"]) == ("confounding", 0.9, None)
    _, printed = said("score", logs, "--tau", "0.8", "--margin", "0.2", "--out", family / "out")
    assert "joint" in printed.out
    stored = json.loads((family / "out" / "score.json").read_text())
    assert (stored["tau"], stored["margin"]) == (0.8, 0.2)


@pytest.mark.parametrize(
    ("option", "value"), [("--margins", "1,0.02,0.02"), ("--tau-grid", "0.3,0.4"), ("--final", "best-val")]
)
def test_an_option_of_another_kind_is_refused_by_name(family, said, option, value):
    code, printed = said("score", family / "nn-strict" / "runs", option, value)
    assert code == 2
    assert f"{option} is not a setting of the diagnosis 'confounding'" in printed.err
