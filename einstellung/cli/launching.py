"""``--launcher`` and those options of launchers that change from call to call; the others are set by ``launcher.KEY``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import click

from einstellung.errors import InputError

# flag: launcher, its option, type, help
_FLAGS: dict[str, tuple[str, str, Any, str]] = {
    "ray-address": ("ray", "address", str, "Ray cluster: auto or HOST:PORT.  [default: one on this machine]"),
    "ray-results": (
        "ray",
        "results",
        click.Choice(["shared", "driver"]),
        "Who writes results: the workers, on a folder that all nodes share, or this command.  [default: driver with an address]",
    ),
    "slurm-partition": ("slurm", "partition", str, "SLURM partition of the jobs."),
    "slurm-time": ("slurm", "time", click.IntRange(min=1), "Time limit of a SLURM job in minutes.  [default: 240]"),
    "slurm-memory": ("slurm", "memory", str, "Memory of a SLURM job, e.g. 4GB."),
    "slurm-gpus": ("slurm", "gpus", click.IntRange(min=0), "GPUs of a SLURM job.  [default: 1 on CUDA devices]"),
}


@dataclass(frozen=True)
class Launching:
    """The launcher as it was given on the command line: its name, if any, and the options by their flag."""

    name: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def named(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The settings with this launcher, before ``--set`` changes its options; those of another one are dropped.

        >>> Launching("ray").named({"launcher": {"name": "slurm", "time": 9}})
        {'launcher': {'name': 'ray'}}
        """
        given = values.get("launcher", "local")
        name = given.get("name", "local") if isinstance(given, Mapping) else given
        return dict(values) if self.name in (None, name) else {**values, "launcher": {"name": self.name}}

    def applied(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The settings with these options; options of another launcher are refused by name.

        >>> Launching("ray", {"ray-address": "auto"}).applied({"launcher": "ray"})
        {'launcher': {'name': 'ray', 'address': 'auto'}}
        >>> Launching(None, {"slurm-time": 9}).applied({})
        Traceback (most recent call last):
        einstellung.errors.InputError: --slurm-time is for the launcher 'slurm', not for 'local': add --launcher slurm
        """
        if not self.options:
            return dict(values)
        given = values.get("launcher", "local")
        section = {"name": "local", **given} if isinstance(given, Mapping) else {"name": given}
        for flag, value in self.options.items():
            launcher, option, _, _ = _FLAGS[flag]
            if section["name"] != launcher:
                raise InputError(
                    f"--{flag} is for the launcher '{launcher}', not for '{section['name']}': add --launcher {launcher}"
                )
            section[option] = value
        return {**values, "launcher": section}


def launcher_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which gets them as ``launching``."""

    @wraps(command)
    def with_launching(launcher: str | None, **others: Any) -> Any:
        flags = {flag: others.pop(flag.replace("-", "_")) for flag in _FLAGS}
        given = {flag: value for flag, value in flags.items() if value is not None}
        return command(launching=Launching(launcher, given), **others)

    decorated: Callable[..., Any] = with_launching
    for flag, (_, _, kind, text) in reversed(_FLAGS.items()):
        decorated = click.option(f"--{flag}", type=kind, help=text)(decorated)
    text = "Where runs are executed: local, ray, slurm, ...; see 'einstellung ls launchers'.  [default: local]"
    return click.option("--launcher", metavar="NAME", help=text)(decorated)
