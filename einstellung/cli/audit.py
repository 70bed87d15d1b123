"""``audit``: unknown cues in the nets of a study or in any classifier."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from einstellung.arguments import names, numbers, whole_numbers
from einstellung.cli.output import JSON, echo, print_json, show_scored
from einstellung.cli.parameters import PATH
from einstellung.cli.probing import THREADS, WNIDS, check_output_folder, find_folder, finish_record, start_record
from einstellung.errors import InputError

if TYPE_CHECKING:
    from einstellung.experiments.audit_plans import AuditPlan, Chosen
    from einstellung.experiments.audited_models import WeightsOptions


@click.command()
@click.argument("folder", required=False, type=PATH)
@click.option(
    "--model",
    "models",
    multiple=True,
    help="Instead of FOLDER: efficientnet-lite0 (1, 2), timm:NAME, file.py:function (executed), or a weights file "
    "(.safetensors, .pt, .pth) with --backbone. Repeat for several models.",
)
@click.option("--data", type=PATH, help="Folder of images for --model; also searched for in EINSTELLUNG_DATA.")
@click.option(
    "--labels", type=PATH, help="CSV file with the columns file,label,name.  [default: from file and folder names]"
)
@WNIDS
@click.option(
    "--objects",
    type=PATH,
    help="Folder of masks named like the images (not 0: the object), so that backgrounds are tested as well.",
)
@click.option(
    "--baseline",
    help="Second model, as for --model (before an update, or trained from scratch), for the relative index.",
)
@click.option("--backbone", help="Architecture of a weights file; see 'einstellung ls backbones'.")
@click.option(
    "--backbone-option", "assignments", multiple=True, metavar="KEY=VALUE", help="Option of the backbone, e.g. width=8."
)
@click.option("--mean", help="Mean by which a weights file's inputs are normalised: three numbers, for pixels in 0..1.")
@click.option("--std", help="Standard deviation, likewise.")
@click.option("--size", type=int, help="Input size of a weights file.  [default: that of the images]")
@click.option("--methods", help="Only these methods of FOLDER.")
@click.option("--seeds", help="Only these seeds of FOLDER.")
@click.option("--splits", help="Images of these splits of FOLDER.  [default: test images of the last phase]")
@click.option("--budget", default="0.02,0.05", show_default=True, help="Areas of the masks, as shares of an image.")
@click.option("--classes", help="Only these classes, by number or name, separated by commas.")
@click.option(
    "--groups",
    type=PATH,
    help="CSV file with the columns class,group: audit groups of classes, whose probabilities are summed. A class is a "
    "number, a range such as 151-268, a name or a WordNet id.",
)
@click.option("--images", "most", default=1000, show_default=True, help="Audit at most this many images.")
@click.option("--probes", default="occlusion,attribution,replacement", show_default=True, help="Proxies to compute.")
@click.option("--seed", default=0, show_default=True, help="Random seed.")
@THREADS
@click.option(
    "--out",
    type=PATH,
    help="Write audit.json, images, figures, tables and the report into this folder.",
)
@JSON
def audit(
    folder: Path | None,
    models: tuple[str, ...],
    data: Path | None,
    labels: Path | None,
    wnids: Path | None,
    objects: Path | None,
    baseline: str | None,
    backbone: str | None,
    assignments: tuple[str, ...],
    mean: str | None,
    std: str | None,
    size: int | None,
    methods: str | None,
    seeds: str | None,
    splits: str | None,
    budget: str,
    classes: str | None,
    groups: Path | None,
    most: int,
    probes: str,
    seed: int,
    threads: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Search trained models for unknown cues.

    A cue is a small region, or a property of the whole image, that decides the class on its own. FOLDER is a results folder:
    every stored net is audited on the test images of the last phase and compared with the baseline of the same seed. For other
    models, give --model and --data. All numbers are proxies, reported with three controls.
    """
    from einstellung.cli.probing import thread_count
    from einstellung.cli.progress import progress_bar, report_progress
    from einstellung.experiments.audit_plans import Chosen, plan_folder
    from einstellung.experiments.audited_models import WeightsOptions
    from einstellung.experiments.auditing import run_audit
    from einstellung.experiments.class_groups import read_groups
    from einstellung.probes.audit import AuditSettings
    from einstellung.results.config import with_assignments
    from einstellung.results.folder import ResultsFolder
    from einstellung.training.devices import torch_threads

    check_output_folder(out)
    settings = AuditSettings(tuple(numbers("--budget", budget)), tuple(names("--probes", probes)), seed)
    wanted = tuple(names("--classes", classes)) if classes is not None else ()
    chosen = Chosen(wanted, most, None if groups is None else read_groups(groups))
    if (folder is None) == (not models):
        raise InputError("give either a results folder, or --model with --data")
    weights = WeightsOptions(
        backbone,
        with_assignments({}, assignments),
        None if mean is None else numbers("--mean", mean, 3),
        None if std is None else numbers("--std", std, 3),
        size,
    )
    if folder is not None:
        _refuse(data=data, labels=labels, baseline=baseline, wnids=wnids, objects=objects, weights=weights)
        plan = plan_folder(
            ResultsFolder(folder),
            chosen,
            names("--methods", methods) if methods is not None else (),
            whole_numbers("--seeds", seeds) if seeds is not None else (),
            names("--splits", splits) if splits is not None else (),
        )
    else:
        _refuse_of_folder(methods=methods, seeds=seeds, splits=splits)
        plan = _plan_models(models, data, labels, wnids, objects, baseline, weights, chosen)
    if threads is not None:
        plan = replace(plan, threads=partial(torch_threads, thread_count(threads)))
    record = start_record(plan.digests)
    with torch_threads(thread_count(threads)), progress_bar("auditing", "audited") as on_progress:
        result = run_audit(plan, settings, on_progress)
    result = result.with_provenance(finish_record(record))
    page = None
    if out is not None:
        with report_progress():
            page = result.save(out)
    if as_json:
        print_json(result.to_json() | ({"report": str(page)} if page is not None else {}))
        return
    show_scored(result.scored(), as_json=False, page=page)
    if page is None:
        echo("\nNothing was written; --out FOLDER keeps the audit, with images and a report.")


def _refuse(weights: WeightsOptions, **given: object) -> None:
    """Options of --model say nothing about a results folder, which has its images, labels and baseline."""
    wrong = [f"--{name}" for name, value in given.items() if value is not None] + weights.given
    if wrong:
        raise InputError(f"{wrong[0]} goes with --model: a results folder has its own")


def _refuse_of_folder(**given: object) -> None:
    """Options of a results folder say nothing about models by name."""
    if wrong := [name for name, value in given.items() if value is not None]:
        raise InputError(f"--{wrong[0]} goes with a results folder, not with --model")


def _plan_models(
    models: tuple[str, ...],
    data: Path | None,
    labels: Path | None,
    wnids: Path | None,
    objects: Path | None,
    baseline: str | None,
    weights: WeightsOptions,
    chosen: Chosen,
) -> AuditPlan:
    from einstellung.classifiers.labelled import read_labelled
    from einstellung.classifiers.wnids import wnids_in
    from einstellung.experiments.audit_plans import plan_files

    if data is None:
        raise InputError(
            "--model needs images: give --data FOLDER, and --labels TABLE.csv unless file names contain the class"
        )
    files = read_labelled(find_folder(data), labels, None if wnids is None else wnids_in(wnids))
    if objects is not None and not objects.is_dir():
        raise InputError(f"--objects {objects} is not a folder: give a folder of masks named like the images")
    return plan_files(files, models, baseline, weights, chosen, objects)
