"""``concon``: scenes with confounders that change from task to task."""

from __future__ import annotations

import click

from einstellung.cli.concon_logic import audit, logic
from einstellung.cli.concon_make import make
from einstellung.cli.concon_perception import perceive


@click.group()
def concon() -> None:
    """Confounders that change from task to task: their logic, their pictures, and what is hidden in them.

    \b
    einstellung concon logic            which rules solve what, before anything is trained
    einstellung concon make --out DIR   the data set, drawn and rendered here
    einstellung concon audit DIR        rules that nobody intended
    einstellung concon perceive         train slot attention to read scenes off their pictures
    """


for verb in (logic, make, audit, perceive):
    concon.add_command(verb)
