"""``watermark``: does a classifier take a watermark for the class it goes with?"""

from __future__ import annotations

from pathlib import Path

import click

from einstellung.cli.output import JSON, OUT, print_json
from einstellung.cli.probing import (
    MODELS,
    THREADS,
    WNIDS,
    at_least_one,
    check_out,
    finished,
    measured_with,
    where_it_lies,
)
from einstellung.cli.progress import counting


@click.command("watermark")
@MODELS
@click.option(
    "--images", type=click.Path(path_type=Path), required=True, help="Folder of pictures, also in EINSTELLUNG_DATA."
)
@click.option(
    "--labels", type=click.Path(path_type=Path), help="CSV table file,label.  [default: from the files' names]"
)
@WNIDS
@click.option("--class", "index", default=478, show_default=True, help="The class asked about; 478 is carton.")
@click.option("--controls", "wanted", help="Comma list of controls, or none.  [default: all]")
@click.option("--seed", default=0, show_default=True, help="Of the shuffled mask.")
@THREADS
@OUT
@JSON
def watermark(
    models: tuple[str, ...],
    images: Path,
    labels: Path | None,
    wnids: Path | None,
    index: int,
    wanted: str | None,
    seed: int,
    threads: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Accuracy and the probability of a class with ImageNet-W's watermark and without it, beside controls.

    The class of a picture is the number at the start of its name, or stands in a table, or is that of its folder: by the
    folder's WordNet id, or by its place where there are as many folders as classes. Figures are fractions in files.
    """
    from einstellung.classifiers import classifier
    from einstellung.classifiers.labelled import labelled
    from einstellung.classifiers.wnids import wnids_in
    from einstellung.probes.watermark import CONTROLS, average, evaluate
    from einstellung.probes.watermark.conditions import controls
    from einstellung.report.probes.watermark import control_table, model_table
    from einstellung.report.probes.watermark_report import as_json as record_of
    from einstellung.report.probes.watermark_report import write_watermark
    from einstellung.report.table_formats import to_markdown
    from einstellung.training.devices import torch_threads

    check_out(out)
    listed = CONTROLS if wanted is None else [part.strip() for part in wanted.split(",")]
    names = tuple(name for name in listed if name not in ("", "none"))
    controls(names, 224)  # an unknown name is told before any weights are read
    folder = where_it_lies(images)
    pictures = labelled(folder, labels, None if wnids is None else wnids_in(wnids))
    asked = [classifier(name) for name in dict.fromkeys(models)]
    for one in asked:
        pictures.check(one.classes, one.name)
    came_from = measured_with({str(folder): pictures.digest})
    records = []
    with torch_threads(at_least_one(threads)):
        for one in asked:
            with counting(one.name, one.name) as heard:
                records.append(evaluate(one, pictures, index, names, seed=seed, heard=heard))
    mean = average(records) if len(records) > 1 else None
    came_from = finished(came_from)
    if out is not None:
        from einstellung.probes.watermark.asking import samples
        from einstellung.probes.watermark.conditions import watermark as published

        shown, captions = samples(asked[0], pictures, [published(asked[0].size), *controls(names, asked[0].size, seed)])
        write_watermark(out, records, mean, shown, captions, came_from)
    if as_json:
        print_json(record_of(records, mean, came_from))
        return
    click.echo(to_markdown(model_table(records, mean)))
    if names:
        click.echo(to_markdown(control_table(records)))
    if out is not None:
        click.echo(f"results: {out / 'watermark.json'}")
