"""Reports of any kind of study: one at a time, with companions, in families and sweeps; what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from einstellung.cli.study_groups import FamilyGroup, SweepGroup
from einstellung.diagnoses.registry import diagnoses
from einstellung.diagnoses.reporting import (
    common_diagnosis,
    diagnosis_of,
    report_family,
    report_study,
    report_sweep,
    score_folder,
)
from einstellung.errors import InputError
from einstellung.files import write_json
from einstellung.hashes import unsealed
from einstellung.results.config import build_config
from einstellung.results.family import write_family
from einstellung.results.folder import ResultsFolder
from einstellung.results.sweep import Sweep, write_sweep
from einstellung.timeline import Timeline
from tests.report.html_reader import HtmlReader

from .toys import Loner, Toy

COLUMNS = ["method", "seed", "phase", "epoch", "split", "acc", "loss", "n"]


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    """Both toys among the diagnoses, and nothing seen yet."""
    monkeypatch.setitem(diagnoses._entries, "toy", Toy)
    monkeypatch.setitem(diagnoses._entries, "loner", Loner)
    monkeypatch.setattr(Toy, "seen", [])


def write_study(folder: Path, methods: dict[str, int], diagnosis: str = "toy", **config: Any) -> ResultsFolder:
    """A results folder with so many finished seeds of every method, as the configuration orders them."""
    results = ResultsFolder(folder)
    planned = {"diagnosis": diagnosis, "methods": list(methods), "seeds": list(range(max(1, *methods.values())))}
    results.write_config(build_config({**planned, **config}))
    for method, seeds in methods.items():
        for seed in range(seeds):
            run = folder / "runs" / f"{method}-seed{seed}"
            row = (method, seed, "T1", 1.0, f"{diagnosis}_split", 0.5, None, 10)
            Timeline(pd.DataFrame([row], columns=COLUMNS)).write(run / "timeline.csv")
            write_json(run / "status.json", {"state": "finished"})
    return results


def test_methods_stand_in_the_order_of_the_configuration_and_the_baseline_first_on_the_page(tmp_path):
    results = write_study(tmp_path, {"zebra": 3, "base": 3, "ape": 3}, name="zoo")
    reported = report_study(results)
    assert list(reported.scored.card.methods) == ["zebra", "base", "ape"]
    assert list(json.loads((tmp_path / "score.json").read_text())["methods"]) == ["zebra", "base", "ape"]
    with (tmp_path / "tables" / "toy_seeds.csv").open(newline="") as file:
        assert [row["method"] for row in csv.DictReader(file)] == ["base", "zebra", "ape"]
    words = HtmlReader(reported.page.read_text(encoding="utf-8")).text
    assert "Toy: zoo" in words
    assert "3 methods." in words


def test_runs_that_failed_are_among_the_warnings_of_a_study_and_of_its_family(tmp_path):
    for name in ("one", "two"):
        write_study(tmp_path / name, {"base": 3}).note_failure("runs/base-seed9", "out of memory")
    write_family(tmp_path, ["one", "two"])
    family = report_family(tmp_path, ["one", "two"])
    assert [scored.card.warnings for scored in family.studies.values()] == [("base-seed9 failed: out of memory",)] * 2
    assert "one and two: base-seed9 failed: out of memory" in HtmlReader(family.page.read_text(encoding="utf-8")).text
    assert "base-seed9 failed: out of memory" in (tmp_path / "one" / "report.html").read_text(encoding="utf-8")


def test_a_companion_has_its_own_card_and_tables(tmp_path):
    results = write_study(tmp_path, {"base": 2}, companions={"loner": {"level": 0.9}})
    reported = report_study(results)
    stored = json.loads((tmp_path / "score.json").read_text())
    assert (stored["kind"], stored["level"]) == ("toy", 0.5)
    assert (stored["loner"]["kind"], stored["loner"]["level"]) == ("loner", 0.9)
    assert unsealed(stored) == reported.scored.to_json()
    assert (tmp_path / "tables" / "loner_seeds.csv").is_file()


def test_a_setting_that_the_diagnosis_does_not_have_is_refused_by_name(tmp_path):
    with pytest.raises(InputError, match=r"score\.margin is not a setting of the diagnosis 'toy'"):
        report_study(write_study(tmp_path, {"base": 1}, score={"margin": 0.1}))
    with pytest.raises(InputError, match=r"score\.level is 2: "):
        report_study(write_study(tmp_path, {"base": 1}, score={"level": 2}))


def test_a_study_is_of_the_diagnosis_that_it_names_else_of_that_which_its_splits_were_made_for():
    assert diagnosis_of(build_config({"diagnosis": "loner"}), ["toy_split"]).name == "loner"
    assert diagnosis_of(build_config({}), ["loner_split"]).name == "loner"


def test_a_folder_without_a_finished_run_has_nothing_to_report(tmp_path):
    write_study(tmp_path, {"base": 0})
    with pytest.raises(InputError, match="has no finished run yet"):
        report_study(ResultsFolder(tmp_path))
    with pytest.raises(InputError, match="has no finished run yet"):
        report_family(tmp_path.parent, [tmp_path.name])


def test_a_family_knows_its_cards_and_who_is_waiting_and_each_study_its_siblings(tmp_path):
    for name in ("b", "a"):
        write_study(tmp_path / name, {"base": 3}, score={"level": 0.7})
    write_family(tmp_path, ["b", "a", "later"])
    family = report_family(tmp_path, ["b", "a", "later"])
    (members,) = Toy.seen
    assert (list(members.cards), members.waiting, members.keys) == (["b", "a"], ("later",), ())
    assert {name: scored.card.siblings for name, scored in family.studies.items()} == {"b": ("a",), "a": ("b",)}
    assert score_folder(ResultsFolder(tmp_path / "a")).card.siblings == ("b",)  # by itself, it looks for them
    assert list(family.answer) == ["2 studies."]
    assert json.loads((tmp_path / "family.json").read_text()) == family.data
    assert HtmlReader(family.page.read_text(encoding="utf-8")).links == ["b/report.html", "a/report.html"]
    assert all((tmp_path / name / "report.html").is_file() for name in ("a", "b"))


def test_a_sweep_knows_its_key_and_the_value_of_every_study(tmp_path):
    sweep = Sweep("cue.size", (2, 4, 6))
    write_sweep(tmp_path, sweep)
    for size in (2, 4):
        write_study(tmp_path / f"cue.size={size}", {"base": 3})
    report = report_sweep(tmp_path)
    (members,) = Toy.seen
    assert (members.keys, members.values) == (("cue.size",), {f"cue.size={size}": (size,) for size in (2, 4, 6)})
    assert (list(members.cards), members.waiting) == (["cue.size=2", "cue.size=4"], ("cue.size=6",))
    assert report.page == tmp_path / "sweep.html"


@pytest.mark.parametrize("group", ["family", "sweep"])
def test_two_kinds_in_one_group_are_refused_whichever_comes_first(group):
    with pytest.raises(
        InputError, match=f"study a measures toys, but study b measures loners: a {group} needs a single diagnosis"
    ):
        common_diagnosis({"a": Toy(), "b": Loner()}, group)
    with pytest.raises(InputError, match="study a measures loners, but study b measures toys"):
        common_diagnosis({"a": Loner(), "b": Toy()}, group)
    assert common_diagnosis({"a": Toy(), "b": Toy()}, group).name == "toy"


@pytest.mark.parametrize(
    ("group", "advice"), [("family", "run each separately"), ("sweep", "list the studies under 'studies'")]
)
def test_a_kind_without_a_page_together_is_refused(group, advice):
    with pytest.raises(
        InputError, match=f"study a measures loners, a diagnosis that has no page for a {group}: {advice}"
    ):
        common_diagnosis({"a": Loner(), "b": Loner()}, group)


def test_nothing_of_a_mixed_family_is_reported(tmp_path):
    write_study(tmp_path / "a", {"base": 3})
    write_study(tmp_path / "b", {"base": 3}, "loner")
    write_family(tmp_path, ["a", "b"])
    with pytest.raises(InputError, match="study a measures toys, but study b measures loners"):
        report_family(tmp_path, ["a", "b"])
    assert not (tmp_path / "a" / "report.html").exists()


def test_a_root_with_studies_of_another_kind_is_refused_before_anything_is_trained(tmp_path):
    write_family(tmp_path, ["old", "never_run"])
    report_study(write_study(tmp_path / "old", {"base": 3}, "loner"))
    with pytest.raises(InputError, match="study new measures toys, but study old measures loners"):
        FamilyGroup(tmp_path, ("new",)).check_diagnoses({"new": Toy()})
    FamilyGroup(tmp_path, ("old",)).check_diagnoses({"old": Toy()})  # it is made anew
    with pytest.raises(InputError, match="measures loners, a diagnosis that has no page for a sweep"):
        SweepGroup(tmp_path, Sweep("cue.size", (2, 4))).check_diagnoses({"cue.size=2": Loner()})
