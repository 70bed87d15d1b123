"""Options and helpers shared by the probes of trained classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click

from einstellung.cli.output import command_line
from einstellung.cli.parameters import PATH

_PACKAGES = ("pillow", "timm")  # recorded besides the usual ones: they resize pictures and build nets

MODELS = click.option(
    "--model",
    "models",
    multiple=True,
    required=True,
    help="efficientnet-lite0 (1, 2), timm:NAME, or file.py:function, which is executed. Repeat for several models.",
)
WNIDS = click.option(
    "--wnids",
    type=PATH,
    help="File of all 1000 WordNet ids, needed if folders are named by WordNet id and some are missing.",
)
THREADS = click.option("--threads", type=int, help="Number of threads.  [default: torch's choice]")


def thread_count(threads: int | None) -> int:
    """The requested number of threads, or torch's default."""
    import torch

    from einstellung.errors import InputError

    if threads is not None and threads < 1:
        raise InputError(f"--threads is {threads}: give at least 1")
    return threads or torch.get_num_threads()


def check_output_folder(out: Path | None) -> None:
    """Refuse an unusable ``--out`` before anything is computed; nothing is created yet."""
    from einstellung.errors import InputError
    from einstellung.files import require_writable

    if out is None:
        return
    require_writable(out)
    if (out / "config.yaml").exists():
        raise InputError(f"{out} is the results folder of a study; choose another folder for --out")


def find_folder(folder: Path) -> Path:
    """The folder itself, or the one of that name in the data locations; an error if there is none."""
    from einstellung.classifiers.labelled import locate_folder
    from einstellung.errors import InputError
    from einstellung.sources.locations import describe_locations

    if not (found := locate_folder(folder)).is_dir():
        raise InputError(f"no such folder: {folder}, also not in {describe_locations()}")
    return found


def start_record(digests: Mapping[str, str]) -> dict[str, Any]:
    """Provenance of the results, taken before anything is computed; ``digests``: content hashes of the picture folders."""
    from einstellung.results.provenance import provenance

    record = provenance(command_line(), dict(digests))
    return {**record, "packages": {**record["packages"], **{name: _version(name) for name in _PACKAGES}}}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def finish_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with its finishing time."""
    from einstellung.results.provenance import now

    return {**record, "finished": now()}
