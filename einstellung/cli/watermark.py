"""``watermark``: does a classifier take a watermark for the class it goes with?"""

from __future__ import annotations

from pathlib import Path

import click

from einstellung.cli.output import JSON, OUT, print_json
from einstellung.cli.progress import counting

MODELS = click.option(
    "--model",
    "models",
    multiple=True,
    required=True,
    help="efficientnet-lite0 (1, 2), timm:NAME, or file.py:function, which is run. Several times for several models.",
)


@click.command("watermark")
@MODELS
@click.option(
    "--images", type=click.Path(path_type=Path), required=True, help="Folder of pictures, also in EINSTELLUNG_DATA."
)
@click.option(
    "--labels", type=click.Path(path_type=Path), help="CSV table file,label.  [default: from the files' names]"
)
@click.option("--class", "index", default=478, show_default=True, help="The class asked about; 478 is carton.")
@click.option("--controls", "wanted", help="Comma list of controls, or none.  [default: all]")
@click.option("--seed", default=0, show_default=True, help="Of the shuffled mask.")
@click.option("--threads", type=int, help="Threads to compute with.  [default: torch's choice]")
@OUT
@JSON
def watermark(
    models: tuple[str, ...],
    images: Path,
    labels: Path | None,
    index: int,
    wanted: str | None,
    seed: int,
    threads: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Accuracy and the probability of a class with ImageNet-W's watermark and without it, beside controls.

    The class of a picture is the number at the start of its name, or stands in a table, or is the place of its folder among
    all folders. Figures are fractions in files.
    """
    from einstellung.classifiers import classifier
    from einstellung.classifiers.labelled import labelled, located
    from einstellung.probes.watermark import CONTROLS, average, evaluate
    from einstellung.probes.watermark.conditions import controls
    from einstellung.report.table_formats import to_markdown
    from einstellung.report.watermark import as_json as record_of
    from einstellung.report.watermark import write_watermark
    from einstellung.report.watermark_tables import control_table, model_table
    from einstellung.training.devices import torch_threads

    listed = CONTROLS if wanted is None else [part.strip() for part in wanted.split(",")]
    names = tuple(name for name in listed if name not in ("", "none"))
    controls(names, 224)  # an unknown name is told before any weights are read
    pictures = labelled(located(images), labels)
    asked = [classifier(name) for name in dict.fromkeys(models)]
    records = []
    with torch_threads(at_least_one(threads)):
        for one in asked:
            with counting(one.name, one.name) as heard:
                records.append(evaluate(one, pictures, index, names, seed=seed, heard=heard))
    mean = average(records) if len(records) > 1 else None
    if out is not None:
        from einstellung.probes.watermark.asking import samples
        from einstellung.probes.watermark.conditions import watermark as published

        shown, captions = samples(asked[0], pictures, [published(asked[0].size), *controls(names, asked[0].size, seed)])
        write_watermark(out, records, mean, shown, captions)
    if as_json:
        print_json(record_of(records, mean))
        return
    click.echo(to_markdown(model_table(records, mean)))
    if names:
        click.echo(to_markdown(control_table(records)))
    if out is not None:
        click.echo(f"results: {out / 'watermark.json'}")


def at_least_one(threads: int | None) -> int:
    """The number of threads that was asked for, else torch's choice."""
    import torch

    from einstellung.errors import InputError

    if threads is not None and threads < 1:
        raise InputError(f"--threads is {threads}: give at least 1")
    return threads or torch.get_num_threads()
