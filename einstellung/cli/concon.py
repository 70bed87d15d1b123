"""``concon``: scenes whose confounder changes from task to task."""

from __future__ import annotations

import time
from pathlib import Path

import click

from einstellung.cli.concon_logic import audit, logic
from einstellung.cli.groups import SectionedGroup
from einstellung.cli.output import JSON, echo, print_json
from einstellung.cli.parameters import FOLDER, PATH, FiniteFloat
from einstellung.cli.progress import progress_bar

_VARIANTS = ("strict", "disjoint", "unconfounded")


@click.group(cls=SectionedGroup)
def concon() -> None:
    """Continual confounding: analyse rules, render scenes, audit them, train perception."""


@click.command("make")
@click.option(
    "--variant", type=click.Choice([*_VARIANTS, "all"]), default="all", show_default=True, help="Variant to generate."
)
@click.option("--size", type=click.IntRange(16, 1024), default=64, show_default=True, help="Image side in pixels.")
@click.option("--train", type=click.IntRange(1), default=3000, show_default=True, help="Images per class and task.")
@click.option("--val", type=click.IntRange(1), default=750, show_default=True, help="The same for validation.")
@click.option("--test", type=click.IntRange(1), default=750, show_default=True, help="The same for the test.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--rules", type=PATH, help="File of rules.  [default: the paper's]")
@click.option(
    "--backend",
    type=click.Choice(["auto", "numba", "torch", "bpy"]),
    default="auto",
    show_default=True,
    help="Renderer; auto: numba if it is installed, else torch.",
)
@click.option("--workers", default="auto", show_default=True, help="Number of processes; auto: one per core.")
@click.option("--out", type=FOLDER, required=True, help="Output folder.")
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
    """Generate and render scenes whose confounder changes from task to task.

    Writes images, masks, records, contact sheets and a datasheet. Interrupted? Rerun the command to resume. The same seed gives
    the same bytes with any number of workers.
    """
    from einstellung.arguments import workers_from
    from einstellung.experiments.machine import usable_cores
    from einstellung.scenes.dataset_writer import write_dataset
    from einstellung.scenes.manifest import DatasetSpec
    from einstellung.scenes.rendering import resolve_backend
    from einstellung.scenes.rules import read_rules
    from einstellung.scenes.summary import write_descriptions
    from einstellung.scenes.work_chunks import RenderSettings

    asked = workers_from("--workers", workers)
    variants = _VARIANTS if variant == "all" else (variant,)
    rendering = RenderSettings(read_rules(rules), size, seed, resolve_backend(backend))
    spec = DatasetSpec(rendering, variants, {"train": train, "val": val, "test": test})
    started = time.monotonic()
    with progress_bar("rendering scenes", "rendered") as on_progress:
        manifest = write_dataset(spec, out, asked if isinstance(asked, int) else usable_cores(), on_progress)
    files = write_descriptions(out, manifest, rendering.book)
    seconds = time.monotonic() - started
    images = sum(split["images"] for case in manifest["cases"].values() for split in case["splits"].values())
    if as_json:
        print_json({"folder": str(out), "images": images, "seconds": round(seconds, 1), **manifest})
        return
    echo(f"{images:,} images in {out}, with their masks and records ({seconds:.0f} s)")
    for file in files:
        echo(f"  {file}")


@click.command("perceive")
@click.option("--out", type=PATH, required=True, help="Weights file (*.safetensors).")
@click.option("--scenes", type=click.IntRange(1), default=20_000, show_default=True, help="Training scenes.")
@click.option("--held-out", type=click.IntRange(1), default=2_000, show_default=True, help="Held-out scenes.")
@click.option("--size", type=click.IntRange(16, 1024), default=64, show_default=True, help="Image side in pixels.")
@click.option("--objects", type=click.IntRange(1), default=4, show_default=True, help="Objects per scene.")
@click.option("--epochs", type=click.IntRange(1), default=20, show_default=True, help="Training epochs.")
@click.option("--lr", type=FiniteFloat(0, min_open=True), default=1e-3, show_default=True, help="Learning rate.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of scenes, weights and batch order."
)
@click.option("--backend", default="auto", show_default=True, help="Renderer: auto, numba, torch or bpy.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Rendering processes.")
@click.option("--threads", type=click.IntRange(1), help="Training threads.  [default: torch's choice]")
@JSON
def perceive(
    out: Path,
    scenes: int,
    held_out: int,
    size: int,
    objects: int,
    epochs: int,
    lr: float,
    seed: int,
    backend: str,
    workers: int,
    threads: int | None,
    as_json: bool,
) -> None:
    """Train slot attention to read scenes from images, and report its held-out accuracy.

    Trains on rendered random scenes. Interrupted? Rerun the command to resume after the last complete epoch. Existing weights
    with the same settings are kept.
    """
    import torch

    from einstellung.perception import Pretraining, pretrain
    from einstellung.perception.pretraining import describe_accuracy
    from einstellung.training.devices import torch_threads

    settings = Pretraining(
        scenes=scenes, held_out=held_out, size=size, objects=objects, epochs=epochs, lr=lr, seed=seed, backend=backend
    )
    existed = out.exists()
    with torch_threads(threads or torch.get_num_threads()):
        record = pretrain(out, settings, workers, log=lambda line: echo(line, err=True))
    if as_json:
        print_json(record)
        return
    done = "already exists" if existed else "is trained"
    echo(f"{out} {done}; on {record['accuracy']['scenes']:,} held-out scenes:")
    echo(describe_accuracy(record["accuracy"]))


for verb in (logic, make, audit, perceive):
    concon.add_command(verb)
