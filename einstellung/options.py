"""Check options against the signature of the function or class that they are for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import field, fields, is_dataclass
from typing import Any, Literal, TypeVar, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from einstellung.errors import ProblemList
from einstellung.registry import suggestion
from einstellung.visible import quoted

T = TypeVar("T")

_LARGEST = 2**53  # whole numbers beyond it are no longer exact everywhere


def internal(default: T) -> T:
    """A field of a dataclass that no configuration sets."""
    return field(default=default, repr=False, metadata={"internal": True})


def internal_fields(make: Callable[..., Any]) -> set[str]:
    """The names of the fields that no configuration sets.

    >>> from dataclasses import make_dataclass
    >>> internal_fields(make_dataclass("Cue", [("size", int, 1), ("away", bool, internal(False))]))
    {'away'}
    """
    return {one.name for one in fields(make) if one.metadata.get("internal")} if is_dataclass(make) else set()


def checked_options(
    make: Callable[..., Any], section: str, given: Mapping[str, Any], taken: Collection[str] = ()
) -> dict[str, Any]:
    """All options of ``make``: the given ones converted to the declared type, the others at their defaults.

    An error names every wrong key and value. ``taken`` are parameters that do not come from a configuration.

    >>> def net(width: int = 64, depth: int = 3) -> None: ...
    >>> checked_options(net, "backbone", {"width": "8"})
    {'width': 8, 'depth': 3}
    >>> checked_options(net, "backbone", {"widht": 8})
    Traceback (most recent call last):
    einstellung.errors.InputError: unknown key 'backbone.widht': did you mean 'width'?
    >>> checked_options(net, "backbone", {"width": "wide"})
    Traceback (most recent call last):
    einstellung.errors.InputError: backbone.width is 'wide': input should be a valid integer
    """
    not_options = {*taken, *internal_fields(make)}
    parameters = {name: value for name, value in inspect.signature(make).parameters.items() if name not in not_options}
    known = list(parameters)
    # of a dataclass: every field's type is looked up in the module that declares it
    hints = get_type_hints(make.__init__ if inspect.isclass(make) and not is_dataclass(make) else make)
    checked = {name: value.default for name, value in parameters.items() if value.default is not value.empty}
    problems = ProblemList()
    for key, value in given.items():
        if key not in known:
            hint = suggestion(key, known) if known else "there are no options"
            problems.add(f"unknown key '{section}.{key}': {hint}")
            continue
        if isinstance(value, int) and abs(value) > _LARGEST:
            problems.add(f"{section}.{key} is too large: give a number up to {_LARGEST:,}")
            continue
        try:
            checked[key] = TypeAdapter(hints[key], config=ConfigDict(allow_inf_nan=False)).validate_python(value)
        except ValidationError as error:
            message = str(error.errors()[0]["msg"])
            problem = f"{message[0].lower()}{message[1:]}"
            if get_origin(hints[key]) is not Literal:
                problem = problem.partition(",")[0]
                if not isinstance(
                    hints[key], type
                ):  # for a union, pydantic's first message covers one alternative only
                    problem = f"it should be {hints[key]}"
            problems.add(f"{section}.{key} is {quoted(value)}: {problem}")
    problems.raise_any()
    return checked
