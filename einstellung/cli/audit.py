"""``audit``: cues that nobody named, in the nets of a study or in any classifier."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from einstellung.arguments import names, numbers, whole_numbers
from einstellung.cli.output import JSON, print_json, show_scored
from einstellung.cli.probing import THREADS, WNIDS, check_output_folder, find_folder, finish_record, start_record
from einstellung.errors import InputError

if TYPE_CHECKING:
    from einstellung.experiments.audit_plans import AuditPlan, Chosen
    from einstellung.experiments.audited_models import WeightsOptions


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option(
    "--model",
    "models",
    multiple=True,
    help="Instead of FOLDER: efficientnet-lite0 (1, 2), timm:NAME, file.py:function (executed), or a weights file "
    "(.safetensors, .pt, .pth) with --backbone. Repeat for several models.",
)
@click.option(
    "--data", type=click.Path(path_type=Path), help="Folder of pictures for --model, also in EINSTELLUNG_DATA."
)
@click.option(
    "--labels", type=click.Path(path_type=Path), help="CSV table file,label,name.  [default: from names and folders]"
)
@WNIDS
@click.option(
    "--baseline", help="A second model, as for --model (before an update, or from scratch): the relative index."
)
@click.option("--backbone", help="The net of a weights file; see 'einstellung ls backbones'.")
@click.option("--backbone-option", "assignments", multiple=True, metavar="KEY=VALUE", help="E.g. width=8.")
@click.option("--mean", help="Of a weights file: three numbers for pixels in 0..1.")
@click.option("--std", help="Likewise.")
@click.option("--size", type=int, help="Side of a weights file's input.  [default: the pictures']")
@click.option("--methods", help="Of FOLDER: only these methods.")
@click.option("--seeds", help="Of FOLDER: only these seeds.")
@click.option("--budget", default="0.02,0.05", show_default=True, help="Shares of pixels that masks cover.")
@click.option("--classes", help="Only images of these classes, by number or name, separated by commas.")
@click.option("--images", "most", default=1000, show_default=True, help="Audit at most this many images.")
@click.option("--probes", default="occlusion,attribution,replacement", show_default=True, help="Proxies to measure.")
@click.option("--seed", default=0, show_default=True, help="Seed of all draws.")
@THREADS
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write audit.json, pictures of the images, figures, tables and the page here.",
)
@JSON
def audit(
    folder: Path | None,
    models: tuple[str, ...],
    data: Path | None,
    labels: Path | None,
    wnids: Path | None,
    baseline: str | None,
    backbone: str | None,
    assignments: tuple[str, ...],
    mean: str | None,
    std: str | None,
    size: int | None,
    methods: str | None,
    seeds: str | None,
    budget: str,
    classes: str | None,
    most: int,
    probes: str,
    seed: int,
    threads: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Find cues that nobody named: small regions, or properties of whole images, that decide the class by themselves.

    FOLDER is a results folder: every net that its runs stored is audited on the test images of the last phase, beside the
    baseline's of the same seed. Or give --model and --data. Numbers are proxies, shown beside three controls.
    """
    from einstellung.cli.probing import thread_count
    from einstellung.cli.progress import progress_bar
    from einstellung.experiments.audit_plans import Chosen, plan_folder
    from einstellung.experiments.audited_models import WeightsOptions
    from einstellung.experiments.auditing import run_audit
    from einstellung.probes.audit import AuditSettings
    from einstellung.results.config import with_assignments
    from einstellung.results.folder import ResultsFolder
    from einstellung.training.devices import torch_threads

    check_output_folder(out)
    settings = AuditSettings(tuple(numbers("--budget", budget)), tuple(names("--probes", probes)), seed)
    chosen = Chosen(tuple(names("--classes", classes)) if classes is not None else (), most)
    if (folder is None) == (not models):
        raise InputError("give a results folder, or --model with --data (one of the two)")
    weights = WeightsOptions(
        backbone,
        with_assignments({}, assignments),
        None if mean is None else numbers("--mean", mean, 3),
        None if std is None else numbers("--std", std, 3),
        size,
    )
    if folder is not None:
        _refuse(data=data, labels=labels, baseline=baseline, wnids=wnids, weights=weights)
        plan = plan_folder(
            ResultsFolder(folder),
            chosen,
            names("--methods", methods) if methods is not None else (),
            whole_numbers("--seeds", seeds) if seeds is not None else (),
        )
    else:
        plan = _plan_models(models, data, labels, wnids, baseline, weights, chosen)
    if threads is not None:
        plan = replace(plan, threads=partial(torch_threads, thread_count(threads)))
    record = start_record(plan.digests)
    with torch_threads(thread_count(threads)), progress_bar("auditing", "looked at") as on_progress:
        result = run_audit(plan, settings, on_progress)
    result = result.with_provenance(finish_record(record))
    page = None if out is None else result.save(out)
    if as_json:
        print_json(result.to_json() | ({"report": str(page)} if page is not None else {}))
        return
    show_scored(result.scored(), as_json=False, page=page)
    if page is None:
        click.echo("\nNothing was written: --out FOLDER keeps the audit, with pictures and a page.")


def _refuse(weights: WeightsOptions, **given: object) -> None:
    """Options of --model say nothing about a results folder, which has its images, labels and baseline."""
    wrong = [f"--{name}" for name, value in given.items() if value is not None] + weights.given
    if wrong:
        raise InputError(f"{wrong[0]} is for --model: a results folder brings its own")


def _plan_models(
    models: tuple[str, ...],
    data: Path | None,
    labels: Path | None,
    wnids: Path | None,
    baseline: str | None,
    weights: WeightsOptions,
    chosen: Chosen,
) -> AuditPlan:
    from einstellung.classifiers.labelled import read_labelled
    from einstellung.classifiers.wnids import wnids_in
    from einstellung.experiments.audit_plans import plan_files

    if data is None:
        raise InputError(
            "--model needs images: give --data FOLDER, and --labels TABLE.csv unless their names say the class"
        )
    files = read_labelled(find_folder(data), labels, None if wnids is None else wnids_in(wnids))
    return plan_files(files, models, baseline, weights, chosen)
