"""``composites``: pictures with several shortcuts at once."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click

from einstellung.cli.output import JSON, print_json
from einstellung.cli.progress import counting


@click.group()
def composites() -> None:
    """Targets on backgrounds beside objects: two shortcuts at once.

    \b
    einstellung composites make --out DIR   a folder of pictures and masks, in the layout of UrbanCars
    """


@composites.command("make")
@click.option(
    "--sources",
    default="procedural",
    show_default=True,
    help="procedural (needs no files), the name of a folder of sources where data are looked for, or a folder.",
)
@click.option("--data", type=click.Path(path_type=Path), help="Look for sources here, as EINSTELLUNG_DATA does.")
@click.option("--size", type=click.IntRange(16, 1024), default=256, show_default=True, help="Pixels a side.")
@click.option(
    "--correlations",
    default="0.95,0.95",
    show_default=True,
    help="In what share of a class's training images background and object are the common ones.",
)
@click.option(
    "--train", type=click.IntRange(1), help="Images of each class.  [default: as many as there are sources for]"
)
@click.option("--val", type=click.IntRange(1), help="The same for validation; a multiple of 4.")
@click.option("--test", type=click.IntRange(1), help="The same for the test; a multiple of 4.")
@click.option(
    "--first-label", "first", multiple=True, help="A label that counts as 0.  [default: urban, else the alphabet]"
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Into this new folder.")
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
    """Put pictures together from targets, backgrounds and objects, with masks, contact sheets and a datasheet.

    The folder is there as a whole or not at all; the same seed gives the same pictures.
    """
    from einstellung.composites.making import Order, find_sources, make_composites
    from einstellung.composites.procedural import PROCEDURAL
    from einstellung.composites.writing import check_out, write_composites

    if data is not None:
        os.environ["EINSTELLUNG_DATA"] = str(data)
    check_out(out)
    pair = _pair(correlations)
    order = Order(size, (pair,), {"train": train, "val": val, "test": test}, False, seed)
    order.check()
    named = sources == PROCEDURAL or (os.sep not in sources and not Path(sources).is_dir())
    folder = None if named else Path(sources).expanduser()
    found = find_sources(sources, folder, order, first)
    begun = time.monotonic()
    with counting("scaling sources", "scaled") as on_progress:
        made = make_composites(found, order, keep=False, on_progress=on_progress)
    with counting("writing images", "written") as on_progress:
        settings = {"sources": folder.resolve().name if folder else sources, "size": size, "seed": seed}
        record = write_composites(out, made, {**settings, "correlations": list(pair)}, on_progress)
    seconds = time.monotonic() - begun
    images = sum(sum(groups.values()) for groups in record["images"].values())
    if as_json:
        print_json({"folder": str(out), "total": images, "seconds": round(seconds, 1), **record})
        return
    click.echo(f"{images:,} images in {out}, with their masks and backgrounds ({seconds:.0f} s)")
    for name in ("datasheet.md", "made.json", "contact_sheets/"):
        click.echo(f"  {out / name}")


def _pair(text: str) -> tuple[float, ...]:
    from einstellung.errors import InputError

    try:
        pair = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--correlations is '{text}': give numbers such as 0.95,0.95") from None
    if len(pair) != 2:
        raise InputError(f"--correlations is '{text}': give two numbers, of the background and of the co-object")
    return pair
