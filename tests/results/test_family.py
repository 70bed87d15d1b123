"""Studies that belong together."""

from __future__ import annotations

import pytest

from einstellung.cli.study_groups import FamilyGroup
from einstellung.diagnoses import reporting
from einstellung.diagnoses.reporting import ReportedFamily
from einstellung.errors import InputError
from einstellung.results.family import Family, check_family_root, read_family, write_family

VALUES = {
    "name": "both",
    "training": {"epochs": [2, 3], "lr": 0.1},
    "seeds": [1, 2],
    "studies": {"wide": {"backbone": {"width": 16}}, "slow": {"training": {"lr": 0.01}, "methods": ["sgd"]}},
}


def test_every_member_is_the_common_configuration_with_its_own_changes():
    studies = Family.of(VALUES, "x.yaml").studies("x.yaml")
    assert list(studies) == ["wide", "slow"]
    assert studies["wide"].backbone.options == {"width": 16}
    assert (studies["wide"].training.lr, studies["slow"].training.lr) == (0.1, 0.01)
    assert studies["slow"].training.epochs == studies["wide"].training.epochs == (2, 3)
    assert studies["slow"].methods == ("sgd",)
    assert [study.name for study in studies.values()] == ["wide", "slow"]


def test_the_command_line_has_the_last_word_in_every_member():
    studies = Family.of(VALUES, "x.yaml").studies("x.yaml", ["training.lr=0.5"], {"seeds": [9]})
    assert {study.training.lr for study in studies.values()} == {0.5}
    assert {study.seeds for study in studies.values()} == {(9,)}


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"one": {}}, "at least two studies"),
        (["a", "b"], "at least two studies"),
        ({"a": {}, "b/c": {}}, "studies.b/c: choose a plain name"),
        ({"a": {}, "Tables": {}}, "studies.Tables: this name is reserved"),
        ({1: {}, 2: {}}, "studies.1: choose a plain name"),
        ({"a": {}, "b": 3}, "studies.b must contain 'key: value' lines"),
    ],
)
def test_a_wrong_family_is_named(members, words):
    with pytest.raises(InputError, match=words):
        Family.of({"studies": members}, "x.yaml")


def test_a_wrong_key_of_a_member_is_named_with_it():
    family = Family.of({"studies": {"a": {}, "b": {"trainin": {}}}}, "x.yaml")
    with pytest.raises(InputError, match=r"x.yaml, study b: unknown key 'trainin': did you mean 'training'\?"):
        family.studies("x.yaml")


def test_a_root_remembers_its_studies_and_refuses_what_is_not_its_own(tmp_path):
    root = tmp_path / "root"
    check_family_root(root)
    write_family(root, ["a", "b"])
    write_family(root, ["b", "c"])
    assert read_family(root) == ["a", "b", "c"]
    check_family_root(root)
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(InputError, match="contains other files"):
        check_family_root(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        check_family_root(tmp_path / "mine.txt")


def test_the_page_shows_all_studies_that_the_root_remembers(tmp_path, monkeypatch):
    shown = []
    done = ReportedFamily({}, [], None, {}, tmp_path / "family.html")
    monkeypatch.setattr(reporting, "report_family", lambda root, names: shown.extend(names) or done)
    for names in (("a", "b"), ("b", "c")):
        FamilyGroup(tmp_path, names).write()
    FamilyGroup(tmp_path, ("b", "c")).show(as_json=True)
    assert shown == ["a", "b", "c"]


def test_studies_that_are_run_later_stand_in_the_order_of_their_configuration(tmp_path):
    order = ("a", "b", "c")
    for names in (("c",), ("a",), ("b",)):
        FamilyGroup(tmp_path, names, order).write()
    assert read_family(tmp_path) == ["a", "b", "c"]
    FamilyGroup(tmp_path, ("z", "y"), ("z", "y")).write()  # another configuration
    assert read_family(tmp_path) == ["z", "y", "a", "b", "c"]


def test_some_members_are_chosen_by_name():
    family = Family.of(VALUES, "x.yaml")
    assert list(family.some(["slow"], "x.yaml").studies("x.yaml")) == ["slow"]
    assert list(family.some(["slow", "wide"], "x.yaml").members) == ["wide", "slow"]
    with pytest.raises(InputError, match=r"x.yaml has no study 'slwo'; did you mean 'slow'\?"):
        family.some(["slow", "slwo"], "x.yaml")
