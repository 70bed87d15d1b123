"""``probe last-layer``: retrain the last layer of frozen nets."""

from __future__ import annotations

from pathlib import Path

import click

from einstellung.cli.output import JSON, OUT, echo, print_json
from einstellung.cli.parameters import PATH
from einstellung.cli.probing import (
    MODELS,
    THREADS,
    check_output_folder,
    find_folder,
    finish_record,
    start_record,
    thread_count,
)

_RESERVED = ("carton", "clean", "held_out", "watermark", "wtm")  # names of built-in measurements


@click.command("last-layer")
@MODELS
@click.option("--train", type=PATH, required=True, help="Training images: one folder per class, or numbered files.")
@click.option("--test", type=PATH, required=True, help="Test images, in the same layout.")
@click.option("--methods", default="erm,wtm_aug,lle", show_default=True, help="erm, wtm_aug, NAME_aug of a shift, lle.")
@click.option(
    "--shift",
    "shifts",
    multiple=True,
    metavar="NAME=FOLDER",
    help="Training images under another shift, with the same file names as in --train.",
)
@click.option("--test-shift", "tested", multiple=True, metavar="NAME=FOLDER", help="Test images under another shift.")
@click.option(
    "--class", "index", type=int, help="The class of interest.  [default: 478 if the classes are the model's]"
)
@click.option("--seeds", default=3, show_default=True, help="Number of seeds.")
@click.option("--versions", default=3, show_default=True, help="Watermarked versions per image and seed.")
@click.option("--epochs", default=90, show_default=True, help="Training epochs.")
@click.option("--batch", default=1024, show_default=True, help="Batch size.")
@click.option("--rates", default="0.0001,0.001,0.01,0.1", show_default=True, help="Learning rates to choose from.")
@click.option("--font", help="Font with Chinese characters.  [default: searched for]")
@THREADS
@OUT
@JSON
def last_layer(
    models: tuple[str, ...],
    train: Path,
    test: Path,
    methods: str,
    shifts: tuple[str, ...],
    tested: tuple[str, ...],
    index: int | None,
    seeds: int,
    versions: int,
    epochs: int,
    batch: int,
    rates: str,
    font: str | None,
    threads: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Retrain the last layer of a classifier with ERM, WTM Aug and LLE.

    Measures the watermark gap of each. Folders are also searched for in EINSTELLUNG_DATA. Features are computed once and cached
    by content. The learning rate is chosen on training images that are held out in all their versions.
    """
    from einstellung.arguments import numbers
    from einstellung.classifiers import load_extractor
    from einstellung.files import write_json
    from einstellung.probes.last_layer import LastLayerTraining, StudyDesign, average, read_data, run_study
    from einstellung.probes.watermark import CARTON
    from einstellung.report.probes.last_layer import last_layer_table
    from einstellung.report.probes.watermark_report import as_json as record_of
    from einstellung.report.table_formats import to_markdown, write_table
    from einstellung.scenes.progress import progress_logger
    from einstellung.training.devices import torch_threads

    check_output_folder(out)
    training = LastLayerTraining(epochs=epochs, batch=batch, rates=tuple(numbers("--rates", rates)))
    wanted = tuple(dict.fromkeys(part.strip() for part in methods.split(",") if part.strip()))
    train, test = find_folder(train), find_folder(test)
    train_shifts, test_shifts = (
        {name: find_folder(folder) for name, folder in named_folders(option, given).items()}
        for option, given in (("--shift", shifts), ("--test-shift", tested))
    )
    extractors = [load_extractor(name) for name in dict.fromkeys(models)]
    sets = [read_data(train, test, train_shifts, test_shifts, one.classifier.classes) for one in extractors]
    provenance = start_record({name: str(facts["content"]) for name, facts in sets[0].facts().items()})
    records = []
    with torch_threads(thread_count(threads)):
        for extractor, data in zip(extractors, sets, strict=True):
            of_interest = CARTON if index is None and data.own and data.classes > CARTON else index
            design = StudyDesign(wanted, seeds, versions, of_interest, font, training)
            records.append(
                run_study(
                    extractor, data, design, lambda step: progress_logger(step, lambda line: echo(line, err=True))
                )
            )
    mean = average(records) if len(records) > 1 else None
    content = record_of(records, mean, finish_record(provenance))
    table = last_layer_table(records, mean)
    if out is not None:
        write_table(out, "last_layer", table)
        write_json(out / "last_layer.json", content)
    if as_json:
        print_json(content)
    else:
        echo(to_markdown(table))


def named_folders(option: str, given: tuple[str, ...]) -> dict[str, Path]:
    """Folders by name from ``NAME=FOLDER``.

    >>> list(named_folders("--shift", ("texture=stylized/train",)))
    ['texture']
    """
    from einstellung.errors import InputError

    folders = {}
    for text in given:
        name, equals, folder = text.partition("=")
        if not (name.isidentifier() and equals and folder) or name in _RESERVED or name in folders:
            raise InputError(f"{option} {text}: write NAME=FOLDER, each name once, e.g. texture=stylized/train")
        folders[name] = Path(folder)
    return folders
