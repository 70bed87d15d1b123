"""Diagnoses by name, and which one a foreign log was made for."""

from __future__ import annotations

import pytest

from einstellung.diagnoses import diagnoses
from einstellung.diagnoses.registry import DEFAULT, get_diagnosis, recognise
from einstellung.errors import InputError


def test_every_folder_is_a_diagnosis():
    assert {"confounding", "rigidity", "shortcuts"} <= set(diagnoses)
    assert all(diagnoses[name].name == name for name in ("confounding", "rigidity", "shortcuts"))


def test_an_unknown_name_is_an_error_with_a_suggestion():
    with pytest.raises(InputError, match="unknown diagnosis 'confouding': did you mean 'confounding'"):
        get_diagnosis("confouding")


@pytest.mark.parametrize(
    ("splits", "name"),
    [
        (["T1_positive", "unconfounded_positive"], "confounding"),
        (["T2_shortcut_normal", "T2_shortcut_masked"], "rigidity"),
        (["mine"], DEFAULT),
        ([], DEFAULT),
    ],
)
def test_a_log_is_recognised_by_its_splits(splits, name):
    assert recognise(splits).name == name


def test_no_log_is_of_two_kinds():
    """Which one is asked first must not matter."""
    confounded = ["T1_val", "T1_positive", "T1_negative", "unconfounded_positive"]
    others = [name for name in diagnoses if name not in (DEFAULT, "confounding")]
    assert not any(get_diagnosis(name).recognises(confounded) for name in others)


def test_everything_that_pages_and_help_show_is_there():
    for name in diagnoses:
        kind = diagnoses[name]
        assert kind.title
        assert kind.topic
        assert kind.Card.model_fields["kind"].default == kind.name
        assert all(field.description for field in kind.Settings.model_fields.values())
