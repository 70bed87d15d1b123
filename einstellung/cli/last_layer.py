"""``last-layer``: new last layers on frozen nets."""

from __future__ import annotations

from pathlib import Path

import click

from einstellung.cli.output import JSON, OUT, print_json
from einstellung.cli.probing import MODELS, THREADS, at_least_one, check_out, finished, measured_with, where_it_lies

_FOLDER = click.Path(path_type=Path)
_TAKEN = ("carton", "clean", "held_out", "watermark", "wtm")  # names of what is measured anyway


@click.command("last-layer")
@MODELS
@click.option(
    "--train", type=_FOLDER, required=True, help="Pictures to learn from: a folder per class, or numbered files."
)
@click.option("--test", type=_FOLDER, required=True, help="Pictures to test on, in the same layout.")
@click.option("--methods", default="erm,wtm_aug,lle", show_default=True, help="erm, wtm_aug, NAME_aug of a shift, lle.")
@click.option(
    "--shift",
    "shifts",
    multiple=True,
    metavar="NAME=FOLDER",
    help="Training pictures under another shift, in files named as in --train.",
)
@click.option("--test-shift", "tested", multiple=True, metavar="NAME=FOLDER", help="Test pictures under another shift.")
@click.option("--class", "index", type=int, help="The class asked about.  [default: 478 where classes are the model's]")
@click.option("--seeds", default=3, show_default=True, help="How many.")
@click.option("--versions", default=3, show_default=True, help="Drawn watermarks per picture and seed.")
@click.option("--epochs", default=90, show_default=True, help="How often the pictures are gone through.")
@click.option("--batch", default=1024, show_default=True, help="Pictures per step.")
@click.option("--rates", default="0.0001,0.001,0.01,0.1", show_default=True, help="Learning rates to choose from.")
@click.option("--font", help="Font with Chinese characters.  [default: looked for]")
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
    """Learn a new last layer on frozen features with ERM, WTM Aug and LLE, and measure the watermark's gap.

    Folders are also looked for in EINSTELLUNG_DATA. Features are computed once and kept in the cache by content. The learning
    rate is chosen on held-out training pictures, which are held out in all their versions.
    """
    from einstellung.arguments import numbers
    from einstellung.classifiers import extractor
    from einstellung.files import write_json
    from einstellung.probes.last_layer import Question, Recipe, average, read, study
    from einstellung.probes.watermark import CARTON
    from einstellung.report.last_layer_tables import last_layer_table
    from einstellung.report.table_formats import to_markdown, write_table
    from einstellung.report.watermark import as_json as record_of
    from einstellung.scenes.progress import progress_logger
    from einstellung.training.devices import torch_threads

    check_out(out)
    recipe = Recipe(epochs=epochs, batch=batch, rates=tuple(numbers("--rates", rates)))
    wanted = tuple(dict.fromkeys(part.strip() for part in methods.split(",") if part.strip()))
    train, test = where_it_lies(train), where_it_lies(test)
    train_shifts, test_shifts = (
        {name: where_it_lies(folder) for name, folder in named_folders(option, given).items()}
        for option, given in (("--shift", shifts), ("--test-shift", tested))
    )
    nets = [extractor(name) for name in dict.fromkeys(models)]
    sets = [read(train, test, train_shifts, test_shifts, net.classifier.classes) for net in nets]
    came_from = measured_with({name: str(facts["content"]) for name, facts in sets[0].facts().items()})
    records = []
    with torch_threads(at_least_one(threads)):
        for net, pictures in zip(nets, sets, strict=True):
            asked = CARTON if index is None and pictures.own and pictures.classes > CARTON else index
            question = Question(wanted, seeds, versions, asked, font, recipe)
            records.append(
                study(
                    net, pictures, question, lambda what: progress_logger(what, lambda line: click.echo(line, err=True))
                )
            )
    mean = average(records) if len(records) > 1 else None
    content = record_of(records, mean, finished(came_from))
    table = last_layer_table(records, mean)
    if out is not None:
        write_table(out, "last_layer", table)
        write_json(out / "last_layer.json", content)
    if as_json:
        print_json(content)
    else:
        click.echo(to_markdown(table))


def named_folders(option: str, given: tuple[str, ...]) -> dict[str, Path]:
    """Folders by name from ``NAME=FOLDER``.

    >>> list(named_folders("--shift", ("texture=stylized/train",)))
    ['texture']
    """
    from einstellung.errors import InputError

    folders = {}
    for text in given:
        name, equals, folder = text.partition("=")
        if not (name.isidentifier() and equals and folder) or name in _TAKEN or name in folders:
            raise InputError(f"{option} {text}: write NAME=FOLDER, each name once, e.g. texture=stylized/train")
        folders[name] = Path(folder)
    return folders
