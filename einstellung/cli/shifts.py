"""``probe shifts``: accuracy gaps on ImageNet variants."""

from __future__ import annotations

from dataclasses import replace
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


@click.command("shifts")
@MODELS
@click.option("--imagenet", type=PATH, help="ImageNet's validation images: folders by WordNet id, or numbered files.")
@click.option("--in9", type=PATH, help="ImageNet-9: mixed_rand, mixed_same and in_to_in9.json.")
@click.option("--stylized", type=PATH, help="Stylized ImageNet: folders by WordNet id. Needs --imagenet.")
@click.option("--imagenet-r", "renditions", type=PATH, help="ImageNet-R: folders by WordNet id. Needs --imagenet.")
@click.option("--wnids", type=PATH, help="File of all 1000 WordNet ids, if --imagenet does not contain them.")
@THREADS
@OUT
@JSON
def shifts(
    models: tuple[str, ...],
    imagenet: Path | None,
    in9: Path | None,
    stylized: Path | None,
    renditions: Path | None,
    wnids: Path | None,
    threads: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure the accuracy gaps of classifiers on ImageNet-9, Stylized ImageNet and ImageNet-R.

    Computes the gaps of the data sets that are given. Folders are also searched for in EINSTELLUNG_DATA. Both sides of a gap
    are restricted to their common classes.
    """
    from einstellung.classifiers import load_classifier
    from einstellung.classifiers.wnids import known_wnids
    from einstellung.files import write_json
    from einstellung.probes.shifts import Folders, average, contents, gaps
    from einstellung.report.probes.shifts import shift_table
    from einstellung.report.probes.watermark_report import as_json as record_of
    from einstellung.report.table_formats import to_markdown, write_table
    from einstellung.scenes.progress import progress_logger
    from einstellung.training.devices import torch_threads

    check_output_folder(out)
    folders = Folders(in9, stylized, renditions, imagenet).resolved(find_folder)
    folders = replace(folders, wnids=known_wnids(wnids, folders.imagenet if stylized or renditions else None))
    provenance = start_record({})
    classifiers = [load_classifier(name) for name in dict.fromkeys(models)]
    with torch_threads(thread_count(threads)):
        records = [
            gaps(classifier, folders, lambda name: progress_logger(name, lambda line: echo(line, err=True)))
            for classifier in classifiers
        ]
    mean = average(records) if len(records) > 1 else None
    content = record_of(records, mean, finish_record({**provenance, "data": contents(records[0])}))
    table = shift_table(records, mean)
    if out is not None:
        write_table(out, "shifts", table)
        write_json(out / "shifts.json", content)
    if as_json:
        print_json(content)
    else:
        echo(to_markdown(table))
