"""Does the audit find ImageNet's watermark in a trained classifier by itself?

    python -m benchmarks.audit.imagenet --out results/imagenet

Audits EfficientNet-Lite0 on one picture per class of ImageNet, in groups of classes, twice: as they are, and with the watermark
of ImageNet-W on the pictures of one group. Prints what the watermark does there, whatever the audit finds.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from einstellung.classifiers.labelled import locate_folder, read_labelled
from einstellung.composites.watermark_mask import watermarked
from einstellung.experiments.audit_plans import MOST_IMAGES, AuditPlan, Chosen, plan_files
from einstellung.experiments.audited_models import WeightsOptions
from einstellung.experiments.auditing import run_audit
from einstellung.experiments.class_groups import read_groups
from einstellung.metrics.proportions import paired_difference_interval
from einstellung.probes.audit import AuditSettings
from einstellung.scenes.progress import progress_logger

GROUPS = Path(__file__).parents[2] / "studies" / "unknown-cues" / "imagenet-groups.csv"
MARKED = "containers"  # cartons are among them, which ImageNet's classifiers take the watermark for
MODEL = "efficientnet-lite0"


def plan(most: int) -> AuditPlan:
    files = read_labelled(locate_folder(Path("imagenet-sample")))
    return plan_files(files, [MODEL], None, WeightsOptions(), Chosen(most=most, groups=read_groups(GROUPS)))


def with_watermark(plan: AuditPlan, label: int) -> AuditPlan:
    """The watermark on the images of one group, as the model receives them."""
    images = plan.images
    marked = torch.from_numpy(watermarked(images.images.numpy()))
    of_group = (images.labels == label).view(-1, 1, 1, 1)
    return replace(plan, images=replace(images, images=torch.where(of_group, marked, images.images)))


def effect(plan: AuditPlan, label: int) -> str:
    """What the watermark costs or gains: on the group's images, and on those of all others, by the model's answers."""
    model, images = plan.loaders[MODEL](), plan.images
    marked = torch.from_numpy(watermarked(images.images.numpy()))
    before, after = (model.logits(some).argmax(dim=1) for some in (images.images, marked))
    own = images.labels == label
    return (
        f"{int(own.sum())} images of the group are right in {_share(before[own] == label)} without the watermark and in "
        f"{_share(after[own] == label)} with it (difference {_difference(after[own] == label, before[own] == label)}); of "
        f"{int((~own).sum())} others, {_share(before[~own] == label)} are taken for the group without it and "
        f"{_share(after[~own] == label)} with it"
    )


def _share(which: Tensor) -> str:
    return f"{100 * float(which.double().mean()):.1f} %"


def _difference(one: Tensor, other: Tensor) -> str:
    gained, lost = int((one & ~other).sum()), int((other & ~one).sum())
    low, high = (100 * value for value in paired_difference_interval(gained, lost, len(one)))
    return f"{100 * (gained - lost) / len(one):+.1f} points, 95 % {low:+.1f} to {high:+.1f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--images", type=int, default=MOST_IMAGES, help="at most so many, in proportion to the groups")
    given = parser.parse_args(arguments)
    clean = plan(given.images)
    label = next(number for number, name in clean.images.class_names.items() if name == MARKED)
    counts = np.bincount(clean.images.labels.numpy())
    print({name: int(counts[number]) for number, name in clean.images.class_names.items()}, flush=True)
    print(effect(clean, label), flush=True)
    for name, one in (("clean", clean), ("watermark", with_watermark(clean, label))):
        result = run_audit(one, AuditSettings(), progress_logger(name, lambda line: print(line, flush=True), 60.0))
        result.save(given.out / name)
        print(name, *result.scored().card.methods[MODEL].verdict.sentences, sep="\n", flush=True)


if __name__ == "__main__":
    main()
