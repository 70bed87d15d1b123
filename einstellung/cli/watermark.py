"""``probe watermark``: does a classifier rely on a watermark that is correlated with a class?"""

from __future__ import annotations

from pathlib import Path

import click

from einstellung.cli.output import JSON, OUT, echo, print_json
from einstellung.cli.parameters import PATH
from einstellung.cli.probing import (
    MODELS,
    THREADS,
    WNIDS,
    check_output_folder,
    find_folder,
    finish_record,
    start_record,
    thread_count,
)
from einstellung.cli.progress import progress_bar


@click.command("watermark")
@MODELS
@click.option("--images", type=PATH, required=True, help="Folder of images; also searched for in EINSTELLUNG_DATA.")
@click.option("--labels", type=PATH, help="CSV file with the columns file,label.  [default: from the file names]")
@WNIDS
@click.option("--class", "index", default=478, show_default=True, help="The class of interest; 478 is carton.")
@click.option("--controls", "wanted", help="Controls, separated by commas, or none.  [default: all]")
@click.option("--seed", default=0, show_default=True, help="Seed of the shuffled mask.")
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
    """Test whether an ImageNet classifier relies on a watermark, with control conditions.

    Reports accuracy and the probability of a class with and without ImageNet-W's watermark. The class of an image is the number
    at the start of its file name, or is listed in a table, or follows from its folder: by the folder's WordNet id, or by its
    position if there are as many folders as classes. Values in files are fractions.
    """
    from einstellung.classifiers import load_classifier
    from einstellung.classifiers.labelled import read_labelled
    from einstellung.classifiers.wnids import wnids_in
    from einstellung.probes.watermark import CONTROLS, average, evaluate
    from einstellung.probes.watermark.conditions import controls
    from einstellung.report.probes.watermark import control_table, model_table
    from einstellung.report.probes.watermark_report import as_json as record_of
    from einstellung.report.probes.watermark_report import write_watermark
    from einstellung.report.table_formats import to_markdown
    from einstellung.training.devices import torch_threads

    check_output_folder(out)
    listed = CONTROLS if wanted is None else [part.strip() for part in wanted.split(",")]
    names = tuple(name for name in listed if name not in ("", "none"))
    controls(names, 224)  # reports an unknown name before any weights are read
    folder = find_folder(images)
    pictures = read_labelled(folder, labels, None if wnids is None else wnids_in(wnids))
    classifiers = [load_classifier(name) for name in dict.fromkeys(models)]
    for classifier in classifiers:
        pictures.check(classifier.classes, classifier.name)
    provenance = start_record({str(folder): pictures.digest})
    records = []
    with torch_threads(thread_count(threads)):
        for classifier in classifiers:
            with progress_bar(classifier.name, classifier.name) as on_progress:
                records.append(evaluate(classifier, pictures, index, names, seed=seed, on_progress=on_progress))
    mean = average(records) if len(records) > 1 else None
    provenance = finish_record(provenance)
    if out is not None:
        from einstellung.probes.watermark.conditions import watermark as published
        from einstellung.probes.watermark.predictions import samples

        first = classifiers[0]
        shown, captions = samples(first, pictures, [published(first.size), *controls(names, first.size, seed)])
        write_watermark(out, records, mean, shown, captions, provenance)
    if as_json:
        print_json(record_of(records, mean, provenance))
        return
    echo(to_markdown(model_table(records, mean)))
    if names:
        echo(to_markdown(control_table(records)))
    if out is not None:
        echo(f"results: {out / 'watermark.json'}")
