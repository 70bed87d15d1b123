"""Settings: the paper's defaults, text from a command line, and a clear word where one is wrong."""

from __future__ import annotations

import pytest

from einstellung.diagnoses.rigidity.settings import Margins, RigiditySettings
from einstellung.diagnoses.settings import parse_settings
from einstellung.errors import InputError


def parsed(**given):
    return parse_settings(RigiditySettings, given, "rigidity")


def test_defaults_are_the_papers():
    settings = parsed()
    assert (settings.baseline, settings.tau, settings.window, settings.smoothing) == (None, 0.6, 3, "trailing")
    assert settings.tau_grid == (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)
    assert (settings.final, settings.margins) == ("auto", Margins(AD=1.0, PD=0.02, SFR_rel=0.02))


def test_values_may_be_text():
    settings = parsed(tau="0.5", window="1", tau_grid="0.3:0.6:0.05", margins="2,0.05,0.1")
    assert (settings.tau, settings.window) == (0.5, 1)
    assert settings.tau_grid == pytest.approx(parsed().tau_grid)
    assert settings.margins == Margins(AD=2, PD=0.05, SFR_rel=0.1)
    assert str(settings.margins) == "2,0.05,0.1"


@pytest.mark.parametrize("margins", [[1, 0.02, 0.02], (1, 0.02, 0.02), {"AD": 1.0, "PD": 0.02, "SFR_rel": 0.02}])
def test_margins_may_be_a_list_or_named(margins):
    assert parsed(margins=margins).margins == Margins()


def test_settings_survive_the_configuration():
    settings = parsed(tau_grid="0.3,0.6", margins="2,0.05,0.1", final="last")
    assert parsed(**settings.model_dump(mode="json")) == settings


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"tau": 0.0}, r"score.tau is 0.0: a number above 0 and up to 1 is needed"),
        ({"tau": float("nan")}, "score.tau is nan"),
        ({"tau_grid": (0.3, 1.2)}, r"score.tau_grid is \(0.3, 1.2\): numbers above 0 and up to 1 are needed"),
        ({"tau_grid": ()}, r"score.tau_grid is \(\): at least one threshold is needed"),
        ({"window": 0}, "score.window is 0"),
        ({"classes": 1}, "score.classes is 1: input should be greater than or equal to 2"),
        ({"window": 2.5}, "score.window is 2.5"),
        ({"smoothing": "centered"}, "score.smoothing is centered: input should be 'trailing', 'centred' or 'none'"),
        ({"final": "best"}, "score.final is best: input should be 'auto', 'last' or 'best-val'"),
        ({"final": "worst-group"}, "score.final is worst-group: input should be 'auto', 'last' or 'best-val'"),
        ({"margins": [-1, 0, 0]}, "score.margins: AD is -1: input should be greater than or equal to 0"),
        ({"margins": [1, float("nan"), 0]}, "score.margins: PD is nan: input should be a finite number"),
        ({"margins": "1,0.02,inf"}, "score.margins: SFR_rel is inf: input should be a finite number"),
        ({"margins": "1,0.02"}, "score.margins is 1,0.02: give three non-negative numbers for AD, PD and SFR_rel"),
        ({"margins": {"SFR": 1}}, "score.margins: SFR is 1: extra inputs are not permitted"),
    ],
)
def test_settings_are_checked(choice, words):
    with pytest.raises(InputError, match=words):
        parsed(**choice)


@pytest.mark.parametrize("margins", [{"AD": -1}, {"PD": float("nan")}, {"SFR_rel": float("inf")}])
def test_margins_are_checked(margins):
    ((name, value),) = margins.items()
    with pytest.raises(InputError, match=f"^score.margins: {name} is {value}: input should be "):
        parsed(margins=margins)


@pytest.mark.parametrize("option", ["level", "margin", "guide_threshold"])
def test_an_option_of_another_diagnosis_is_refused_by_name(option):
    with pytest.raises(InputError, match=f"score.{option} is not a setting of the diagnosis 'rigidity'"):
        parsed(**{option: 0.5})
