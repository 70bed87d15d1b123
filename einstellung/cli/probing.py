"""What the probes of trained classifiers have in common: models, folders, where results go, what was measured with."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click

from einstellung.cli.output import command_line

_PACKAGES = ("pillow", "timm")  # beside what every record names: they resize pictures and build nets

MODELS = click.option(
    "--model",
    "models",
    multiple=True,
    required=True,
    help="efficientnet-lite0 (1, 2), timm:NAME, or file.py:function, which is run. Several times for several models.",
)
WNIDS = click.option(
    "--wnids",
    type=click.Path(path_type=Path),
    help="File of all 1000 WordNet ids, where folders are named by them and are not all there.",
)
THREADS = click.option("--threads", type=int, help="Threads to compute with.  [default: torch's choice]")


def at_least_one(threads: int | None) -> int:
    """The number of threads that was asked for, else torch's choice."""
    import torch

    from einstellung.errors import InputError

    if threads is not None and threads < 1:
        raise InputError(f"--threads is {threads}: give at least 1")
    return threads or torch.get_num_threads()


def check_out(out: Path | None) -> None:
    """Whether results can be written into ``out``, before anything is computed; nothing is made yet."""
    from einstellung.errors import InputError
    from einstellung.files import require_writable

    if out is None:
        return
    require_writable(out)
    if (out / "config.yaml").exists():
        raise InputError(f"{out} is the results folder of a study: choose another folder for --out")


def where_it_lies(folder: Path) -> Path:
    """A folder that was named, there or where data are looked for; one that is nowhere is told at once."""
    from einstellung.classifiers.labelled import located
    from einstellung.errors import InputError
    from einstellung.sources.places import looked_in

    if not (found := located(folder)).is_dir():
        raise InputError(f"there is no folder {folder}, nor one of that name in {looked_in()}")
    return found


def measured_with(digests: Mapping[str, str]) -> dict[str, Any]:
    """Where numbers come from; ``digests``: the content of every folder of pictures. Call it before anything is computed."""
    from einstellung.results.provenance import provenance

    record = provenance(command_line(), dict(digests))
    return {**record, "packages": {**record["packages"], **{name: _version(name) for name in _PACKAGES}}}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def finished(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with the time of its end."""
    from einstellung.results.provenance import now

    return {**record, "finished": now()}
