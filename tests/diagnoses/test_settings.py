"""Settings of a diagnosis: from YAML or the command line, and what is said about a wrong one."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import field_validator

from einstellung.diagnoses.settings import Grid, Names, Numbers, Settings, parse_settings
from einstellung.errors import InputError


class ToySettings(Settings):
    tau: float = 0.5
    grid: Grid = (0.3, 0.4)
    margins: Numbers = (1.0,)
    cues: Names = ()
    final: Literal["last", "best-val"] = "last"

    @field_validator("tau")
    @classmethod
    def _share(cls, value):
        if not 0 < value <= 1:
            raise ValueError("a number above 0 and up to 1 is needed")
        return value


def parsed(**given):
    return parse_settings(ToySettings, given, "toy")


def test_text_and_values_mean_the_same():
    assert parsed(tau="0.7", margins="1, 2.5", cues="background, mark") == parsed(
        tau=0.7, margins=[1, 2.5], cues=["background", "mark"]
    )
    assert parsed(grid="0.3:0.5:0.1").grid == (0.3, 0.4, 0.5)
    assert parsed(grid="0.3,0.6").grid == (0.3, 0.6)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"tau": "1.5"}, r"^score\.tau is 1\.5: a number above 0 and up to 1 is needed$"),
        ({"tau": "high"}, r"^score\.tau is high: input should be a valid number"),
        ({"tau": float("nan")}, r"^score\.tau is nan: input should be a finite number$"),
        ({"final": "best"}, r"^score\.final is best: input should be 'last' or 'best-val'$"),
        ({"grid": "0.3:0.1:0.1"}, r"^score\.grid is 0\.3:0\.1:0\.1: give first:last:step with at most 200 steps"),
        (
            {"grid": "0:1"},
            r"^score\.grid is 0:1: give first:last:step, e\.g\. 0\.3:0\.6:0\.05, or comma-separated numbers$",
        ),
        ({"grid": "0:1:0.0001"}, r"at most 200 steps"),
        ({"margins": "1,x"}, r"^score\.margins is 1,x: input should be a valid number"),
        ({"grids": "1"}, r"^score\.grids is not a setting of the diagnosis 'toy': did you mean 'grid'\?$"),
        ({"level": 0.5}, r"^score\.level is not a setting of the diagnosis 'toy': there are: baseline, cues, final,"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(given, words):
    with pytest.raises(InputError, match=words):
        parsed(**given)


def test_settings_are_called_as_the_user_wrote_them():
    with pytest.raises(InputError, match=r"^--tau is 0: a number above 0"):
        parse_settings(ToySettings, {"tau": 0}, "toy", lambda key: f"--{key}")
