"""Settings of a diagnosis: typed, with their defaults in one place, from YAML or from the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from einstellung.errors import ProblemList
from einstellung.registry import suggestion

_LONGEST_GRID = 200


class Settings(BaseModel):
    """What every diagnosis lets the user choose; a kind adds its own, each with a default and a description.

    Values may be text, as the command line gives them. What a validator refuses is a ``ValueError`` with a message that
    completes "tau is 1.5: ...".
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    baseline: str | None = Field(default=None, description="The method that all others are compared with.")


S = TypeVar("S", bound=Settings)


def parse_settings(
    kind: type[S], given: Mapping[str, Any], diagnosis: str, label: Callable[[str], str] = "score.{}".format
) -> S:
    """Settings with the given values; an option that the diagnosis does not have is refused by its name.

    >>> parse_settings(Settings, {"tau_grid": "0.3,0.4"}, "toy", lambda key: "--" + key.replace("_", "-"))
    Traceback (most recent call last):
    einstellung.errors.InputError: --tau-grid is not a setting of the diagnosis 'toy': there are: baseline
    """
    problems = ProblemList()
    for key in given:
        if key not in kind.model_fields:
            problems.add(
                f"{label(key)} is not a setting of the diagnosis '{diagnosis}': {suggestion(key, kind.model_fields)}"
            )
    settings = None
    try:
        settings = kind.model_validate({key: value for key, value in given.items() if key in kind.model_fields})
    except ValidationError as error:
        for problem in _first_of_each_key(error):
            key = str(problem["loc"][0]) if problem["loc"] else "score"
            message = str(problem["msg"]).removeprefix("Value error, ")
            words = f"{message[0].lower()}{message[1:]}"
            if inner := [part for part in problem["loc"][1:] if isinstance(part, str)]:
                problems.add(f"{label(key)}: {'.'.join(inner)} is {problem['input']}: {words}")
            else:
                problems.add(f"{label(key)} is {given.get(key, problem.get('input'))}: {words}")
    problems.raise_any()
    assert settings is not None
    return settings


def _first_of_each_key(error: ValidationError) -> list[Any]:
    """One problem for each setting: of a list with several wrong entries, the first says enough."""
    return list({problem["loc"][:1]: problem for problem in reversed(error.errors())}.values())[::-1]


def _numbers(value: Any) -> Any:
    """Text such as ``1,0.02,0.02`` as numbers."""
    return [part for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _grid(value: Any) -> Any:
    """Text such as ``0.3:0.6:0.05`` (both ends included) or ``0.3,0.5`` as numbers."""
    if not isinstance(value, str) or ":" not in value:
        return _numbers(value)
    try:
        first, last, step = (float(part) for part in value.split(":"))
    except ValueError:
        raise ValueError("give first:last:step, e.g. 0.3:0.6:0.05, or comma-separated numbers") from None
    if step <= 0 or last < first or (last - first) / step > _LONGEST_GRID:
        raise ValueError(f"give first:last:step with at most {_LONGEST_GRID} steps, e.g. 0.3:0.6:0.05")
    return [round(first + place * step, 10) for place in range(int((last - first) / step + 1e-9) + 1)]


def _names(value: Any) -> Any:
    """Text such as ``background, watermark`` as names."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Numbers = Annotated[tuple[float, ...], BeforeValidator(_numbers)]
Grid = Annotated[tuple[float, ...], BeforeValidator(_grid)]
Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
