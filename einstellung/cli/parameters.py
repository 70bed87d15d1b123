"""Types of parameters that several verbs share."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import click

from einstellung.errors import InputError
from einstellung.foreign_files import usable_path


class GivenPath(click.Path):
    """A path that is not empty and that the system can look up."""

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            usable_path(os.fspath(value))
        except InputError as error:
            self.fail(str(error), param, ctx)
        return super().convert(value, param, ctx)


class FiniteFloat(click.FloatRange):
    """A number, without nan and infinity: neither is outside of a range for click."""

    name = "float"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = click.FLOAT.convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return super().convert(value, param, ctx)

    def _describe_range(self) -> str:
        """For the help: nothing where every finite number is accepted."""
        return super()._describe_range() if self.min is not None or self.max is not None else ""


PATH = GivenPath(path_type=Path)
FOLDER = GivenPath(path_type=Path, file_okay=False)
FILE = GivenPath(path_type=Path, dir_okay=False)
