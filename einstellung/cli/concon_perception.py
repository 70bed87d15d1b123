"""``concon perceive``: train the eyes of a model that reads symbols."""

from __future__ import annotations

from pathlib import Path

import click

from einstellung.cli.output import JSON, print_json


@click.command("perceive")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The weights: a file *.safetensors.")
@click.option("--scenes", type=click.IntRange(1), default=20_000, show_default=True, help="Scenes to learn from.")
@click.option("--held-out", type=click.IntRange(1), default=2_000, show_default=True, help="Scenes to measure on.")
@click.option("--size", type=click.IntRange(16, 1024), default=64, show_default=True, help="Pixels a side.")
@click.option("--objects", type=click.IntRange(1), default=4, show_default=True, help="Objects in a scene.")
@click.option(
    "--epochs", type=click.IntRange(1), default=20, show_default=True, help="How often scenes are gone through."
)
@click.option("--lr", type=click.FloatRange(0, min_open=True), default=1e-3, show_default=True, help="Learning rate.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of scenes, weights and their order."
)
@click.option("--backend", default="auto", show_default=True, help="Renderer: auto, numba, torch or bpy.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes that draw scenes.")
@click.option("--threads", type=click.IntRange(1), help="Threads to train with.  [default: torch's choice]")
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
    """Train slot attention on rendered scenes without any rule, and say how well it reads held-out ones.

    A training that was stopped goes on after its latest whole epoch; weights that are there already, made with the same
    settings, are left as they are.
    """
    import torch

    from einstellung.perception import Pretraining, pretrain
    from einstellung.perception.pretraining import in_words
    from einstellung.training.devices import torch_threads

    settings = Pretraining(
        scenes=scenes, held_out=held_out, size=size, objects=objects, epochs=epochs, lr=lr, seed=seed, backend=backend
    )
    was_there = out.exists()
    with torch_threads(threads or torch.get_num_threads()):
        record = pretrain(out, settings, workers, tell=lambda line: click.echo(line, err=True))
    if as_json:
        print_json(record)
        return
    click.echo(
        f"{out} {'is there already' if was_there else 'is trained'}; on {record['accuracy']['scenes']:,} held-out scenes:"
    )
    click.echo(in_words(record["accuracy"]))
