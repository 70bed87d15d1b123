"""``concon make``: folders of scenes with continual confounders."""

from __future__ import annotations

import time
from pathlib import Path

import click

from einstellung.cli.output import JSON, print_json
from einstellung.cli.progress import progress_bar

_VARIANTS = ("strict", "disjoint", "unconfounded")


@click.command("make")
@click.option(
    "--variant", type=click.Choice([*_VARIANTS, "all"]), default="all", show_default=True, help="Which sets to make."
)
@click.option("--size", type=click.IntRange(16, 1024), default=64, show_default=True, help="Pixels a side.")
@click.option("--train", type=click.IntRange(1), default=3000, show_default=True, help="Images of each class and task.")
@click.option("--val", type=click.IntRange(1), default=750, show_default=True, help="The same for validation.")
@click.option("--test", type=click.IntRange(1), default=750, show_default=True, help="The same for the test.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--rules", type=click.Path(path_type=Path), help="A file of rules.  [default: those of the paper]")
@click.option(
    "--backend",
    type=click.Choice(["auto", "numba", "torch", "bpy"]),
    default="auto",
    show_default=True,
    help="What draws the pictures; auto: numba where it is installed, else torch.",
)
@click.option("--workers", default="auto", show_default=True, help="Processes at a time; auto: one a core.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Into this folder.")
@JSON
def make(
    variant: str,
    size: int,
    train: int,
    val: int,
    test: int,
    seed: int,
    rules: Path | None,
    backend: str,
    workers: str,
    out: Path,
    as_json: bool,
) -> None:
    """Draw scenes whose confounder changes from task to task: images, masks, records, contact sheets and a datasheet.

    Stopped at any moment, the same command goes on where it was; the same seed gives the same bytes with any number of workers.
    """
    from einstellung.arguments import workers_from
    from einstellung.experiments.machine import usable_cores
    from einstellung.scenes.lots import Recipe
    from einstellung.scenes.made import Order
    from einstellung.scenes.making import make_scenes
    from einstellung.scenes.rendering import resolve_backend
    from einstellung.scenes.rules import read_rules
    from einstellung.scenes.summary import describe

    asked = workers_from("--workers", workers)
    variants = _VARIANTS if variant == "all" else (variant,)
    recipe = Recipe(read_rules(rules), size, seed, resolve_backend(backend))
    order = Order(recipe, variants, {"train": train, "val": val, "test": test})
    begun = time.monotonic()
    with progress_bar("drawing scenes", "drawn") as heard:
        made = make_scenes(order, out, asked if isinstance(asked, int) else usable_cores(), heard)
    files = describe(out, made, recipe.book)
    seconds = time.monotonic() - begun
    images = sum(split["images"] for case in made["cases"].values() for split in case["splits"].values())
    if as_json:
        print_json({"folder": str(out), "images": images, "seconds": round(seconds, 1), **made})
        return
    click.echo(f"{images:,} images in {out}, with their masks and records ({seconds:.0f} s)")
    for file in files:
        click.echo(f"  {file}")
