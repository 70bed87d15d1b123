"""``data composites``: images with several shortcuts at once."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click

from einstellung.cli.groups import SectionedGroup
from einstellung.cli.output import JSON, echo, print_json
from einstellung.cli.parameters import FOLDER, PATH
from einstellung.cli.progress import progress_bar
from einstellung.errors import InputError


@click.group(cls=SectionedGroup)
def composites() -> None:
    """Compose images with two shortcuts at once: background and co-object."""


@composites.command("make")
@click.option(
    "--sources",
    default="procedural",
    show_default=True,
    help="procedural (needs no files), the name of a source folder in EINSTELLUNG_DATA, or a path.",
)
@click.option("--data", type=PATH, help="Search for sources here instead of in EINSTELLUNG_DATA.")
@click.option("--size", type=click.IntRange(16, 1024), default=256, show_default=True, help="Image side in pixels.")
@click.option(
    "--correlations",
    default="0.95,0.95",
    show_default=True,
    help="Share of a class's training images with the common background and with the common object.",
)
@click.option("--train", type=click.IntRange(1), help="Images per class.  [default: as many as the sources allow]")
@click.option("--val", type=click.IntRange(1), help="The same for validation; a multiple of 4.")
@click.option("--test", type=click.IntRange(1), help="The same for the test; a multiple of 4.")
@click.option(
    "--first-label", "first", multiple=True, help="A label with value 0.  [default: urban, else alphabetical]"
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--out", type=FOLDER, required=True, help="Output folder; must not exist.")
@JSON
def make(
    sources: str,
    data: Path | None,
    size: int,
    correlations: str,
    train: int | None,
    val: int | None,
    test: int | None,
    first: tuple[str, ...],
    seed: int,
    out: Path,
    as_json: bool,
) -> None:
    """Compose images from targets, backgrounds and objects, in the layout of UrbanCars.

    Also writes masks, contact sheets and a datasheet. The folder appears when it is complete. Equal seeds give equal images.
    """
    from einstellung.composites.build import CompositeSpec, build_composites, find_sources
    from einstellung.composites.procedural import PROCEDURAL
    from einstellung.composites.writing import check_out, write_composites

    if data is not None:
        if not data.is_dir():
            raise InputError(f"--data {data}: no such folder")
        os.environ["EINSTELLUNG_DATA"] = str(data)
    check_out(out)
    pair = _pair(correlations)
    spec = CompositeSpec(size, (pair,), {"train": train, "val": val, "test": test}, False, seed)
    spec.check()
    named = sources == PROCEDURAL or (os.sep not in sources and not Path(sources).is_dir())
    folder = None if named else Path(sources).expanduser()
    found = find_sources(sources, folder, spec, first)
    started = time.monotonic()
    with progress_bar("scaling sources", "scaled") as on_progress:
        composed = build_composites(found, spec, keep=False, on_progress=on_progress)
    with progress_bar("writing images", "written") as on_progress:
        settings = {"sources": folder.resolve().name if folder else sources, "size": size, "seed": seed}
        record = write_composites(out, composed, {**settings, "correlations": list(pair)}, on_progress)
    seconds = time.monotonic() - started
    images = sum(sum(groups.values()) for groups in record["images"].values())
    if as_json:
        print_json({"folder": str(out), "total": images, "seconds": round(seconds, 1), **record})
        return
    echo(f"{images:,} images in {out}, with their masks and backgrounds ({seconds:.0f} s)")
    for name in ("datasheet.md", "made.json", "contact_sheets/"):
        echo(f"  {out / name}")


def _pair(text: str) -> tuple[float, ...]:
    try:
        pair = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--correlations is '{text}': give numbers such as 0.95,0.95") from None
    if len(pair) != 2:
        raise InputError(f"--correlations is '{text}': give two numbers, for background and co-object")
    return pair
