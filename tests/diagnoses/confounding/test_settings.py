"""Settings of the diagnosis: their defaults, and what is refused."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.confounding.settings import ConfoundingSettings
from einstellung.diagnoses.settings import parse_settings
from einstellung.errors import InputError


def parsed(**given):
    return parse_settings(ConfoundingSettings, given, "confounding")


def test_defaults():
    assert parsed().model_dump() == {
        "baseline": None,
        "tau": 0.9,
        "window": 3,
        "smoothing": "trailing",
        "margin": 0.1,
        "level": 0.75,
    }


def test_text_of_the_command_line_is_understood():
    assert parsed(tau="0.8", window="2", margin="0.2") == ConfoundingSettings(tau=0.8, window=2, margin=0.2)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("tau", 0.4, r"score\.tau is 0\.4: a number above chance \(0\.5\) and up to 1 is needed"),
        ("level", 0.4, r"score\.level is 0\.4: a number above chance"),
        ("level", 1.1, r"score\.level is 1\.1: a number above chance"),
        ("margin", 0.6, r"score\.margin is 0\.6: a number above 0 and below 0\.5 is needed"),
        ("margin", 0, r"score\.margin is 0: a number above 0"),
        ("window", 0, r"score\.window is 0: give a whole number of epochs, at least 1"),
        ("smoothing", "median", r"score\.smoothing is median: input should be 'trailing', 'centred' or 'none'"),
    ],
)
def test_values_that_mean_nothing_are_refused(key, value, words):
    with pytest.raises(InputError, match=words):
        parsed(**{key: value})


@pytest.mark.parametrize("key", ["margins", "tau_grid", "final", "chance"])
def test_an_option_of_another_kind_is_refused_by_name(key):
    with pytest.raises(InputError, match=rf"score\.{key} is not a setting of the diagnosis 'confounding': "):
        parsed(**{key: "0.3"})


def test_every_setting_is_described():
    assert all(field.description for field in ConfoundingSettings.model_fields.values())
