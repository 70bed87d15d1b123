"""Settings: their defaults, as text from the command line, and what is refused."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.settings import parse_settings
from einstellung.diagnoses.shortcuts.settings import ShortcutsSettings, correlations_by_phase
from einstellung.errors import InputError


def parsed(**given):
    return parse_settings(ShortcutsSettings, given, "shortcuts", lambda key: f"--{key.replace('_', '-')}")


def test_defaults():
    settings = ShortcutsSettings()
    assert settings.model_dump() == {
        "baseline": None,
        "final": "auto",
        "margin": 0.02,
        "level": 0.75,
        "tau": 0.9,
        "window": 3,
        "smoothing": "trailing",
        "cues": None,
        "correlations": None,
    }
    assert all(field.description for field in ShortcutsSettings.model_fields.values())


@pytest.mark.parametrize(
    ("given", "phases", "by_phase"),
    [
        (".95,.9", ["T1"], {"T1": (0.95, 0.9)}),
        (".95,.9", ["T1", "T2"], {"T1": (0.95, 0.9), "T2": (0.95, 0.9)}),
        (".95,.5/.5,.95", ["T1", "T2"], {"T1": (0.95, 0.5), "T2": (0.5, 0.95)}),
        ([0.95, 0.9], ["T1"], {"T1": (0.95, 0.9)}),
        ([[0.95, 0.5], [0.5, 1]], ["T1", "T2"], {"T1": (0.95, 0.5), "T2": (0.5, 1.0)}),
        ({"T2": [0.5, 0.95]}, ["T1", "T2"], {"T2": (0.5, 0.95)}),
        (None, ["T1"], {}),
    ],
)
def test_correlations_of_every_form(given, phases, by_phase):
    assert correlations_by_phase(parsed(correlations=given).correlations, phases, 2) == by_phase


@pytest.mark.parametrize("given", ["a,b", "", ".9,", ".9/x", [], {"T1": "x"}, [True, False], 3])
def test_correlations_that_are_no_numbers_are_refused_with_an_example(given):
    with pytest.raises(InputError, match=r"--correlations is .*: give the share of images .* \.95,\.95"):
        parsed(correlations=given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"margin": "0.7"}, "--margin is 0.7: input should be less than 0.5"),
        ({"level": "1.5"}, "--level is 1.5: "),
        ({"level": 0}, "--level is 0: "),
        ({"tau": "0"}, "--tau is 0: "),
        ({"window": "0"}, "--window is 0: "),
        ({"final": "best-val"}, "--final is best-val: input should be 'auto', 'last' or 'worst-group'"),
        ({"tau_grid": "0.3,0.4"}, "--tau-grid is not a setting of the diagnosis 'shortcuts': "),
        ({"margins": "1,0.02,0.02"}, "--margins is not a setting of the diagnosis 'shortcuts': did you mean 'margin'?"),
    ],
)
def test_what_is_refused_is_named(given, message):
    with pytest.raises(InputError) as refused:
        parsed(**given)
    assert str(refused.value).startswith(message)


def test_text_becomes_values():
    settings = parsed(cues="sky, thing", margin="0.05", window="1", smoothing="none")
    assert (settings.cues, settings.margin, settings.window, settings.smoothing) == (("sky", "thing"), 0.05, 1, "none")


def test_a_list_for_each_phase_or_one_for_all():
    with pytest.raises(InputError, match="3 lists of correlations for the 2 phases T1, T2: give one, or one each"):
        correlations_by_phase([[0.9], [0.9], [0.9]], ["T1", "T2"], 1)
    with pytest.raises(InputError, match="1 correlations of T1 for 2 cues"):
        correlations_by_phase([0.9], ["T1"], 2)
