"""A model that reads a patch, its images, and an audit that says so: what surrounds the finder is tested without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from einstellung.cues import cover
from einstellung.probes.audit import AuditedModel, AuditSettings
from einstellung.probes.audit.windows import mask_of
from einstellung.results.audit_files import BearingImage, Beats, Finding, ModelAudit, ProxyRow, RelativeRow

BOX = (2, 3, 4, 4)
SIZE = 16
SETTINGS = AuditSettings()


def patched_images(per_class: int = 20, classes: int = 3) -> tuple[Tensor, Tensor]:
    """uint8 images of noise whose brightness tells the class, weakly; those of class 1 have a white patch."""
    draws = np.random.default_rng(0)
    labels = np.repeat(np.arange(classes), per_class)
    images = draws.integers(0, 120, (len(labels), 3, SIZE, SIZE)) + 10 * labels[:, None, None, None]
    top, left, height, width = BOX
    images[labels == 1, :, top : top + height, left : left + width] = 255
    return torch.from_numpy(images.astype(np.uint8)), torch.from_numpy(labels)


class PatchReader(nn.Module):
    """Says class 1 where the patch is white, else goes by brightness; ``scale`` of the patch's logit."""

    def __init__(self, classes: int = 3, scale: float = 20.0) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(scale))
        self.register_buffer("centres", 60 + 10.0 * torch.arange(classes))

    def forward(self, inputs: Tensor) -> Tensor:
        top, left, height, width = BOX
        patch = inputs[..., top : top + height, left : left + width].mean(dim=(1, 2, 3))
        logits = -(255 * inputs.mean(dim=(1, 2, 3)).unsqueeze(1) - self.centres).abs() / 5
        return torch.cat(
            [logits[:, :1], logits[:, 1:2] + self.scale * (patch > 0.9).unsqueeze(1), logits[:, 2:]], dim=1
        )


def finding(label: int = 1, **changes: object) -> Finding:
    """A finding that beats all controls."""
    values = {
        "label": label,
        "name": f"class {label}",
        "kind": "localised",
        "box": BOX,
        "area": 16 / SIZE**2,
        "delta": 0.8,
        "ci95": (0.7, 0.9),
        "found_by": ("occlusion", "replacement"),
        "beats": Beats(nsc=True, random=True, fillings=True),
        "images": (BearingImage(index=21, score=0.9, box=BOX), BearingImage(index=20, score=0.8, box=BOX)),
        "pull": 0.7,
        "pull_null": 0.05,
        "strength": 14.0,
        "threshold": 4.0,
        "p": 0.01,
        "fillings": {"black": 0.8, "mean": 0.79, "noise": 0.75},
        "nsc": 0.02,
        "random": 0.01,
        "construction": "the box in black",
    }
    return Finding(**(values | changes))


def fake_audit(
    model: AuditedModel,
    images: Tensor,
    labels: Tensor,
    names: Mapping[int, str],
    settings: AuditSettings = SETTINGS,
    on_progress: Callable[[int, int], object] = lambda done, total: None,
    baseline: AuditedModel | None = None,
    objects: Tensor | None = None,
) -> ModelAudit:
    """Look at the known box only: a finding where covering it takes more than a tenth of a class's accuracy."""
    right = model.logits(images).argmax(1) == labels
    found, proxies = [], []
    for label in labels.unique().tolist():
        own = labels == label
        covered = cover(
            "black", images[own], mask_of(BOX, int(own.sum()), *images.shape[-2:]), torch.arange(int(own.sum()))
        )
        delta = float(right[own].float().mean() - (model.logits(covered).argmax(1) == label).float().mean())
        rows = own.nonzero().flatten().tolist()
        bearing = tuple(BearingImage(index=row, score=1 - place / 100, box=BOX) for place, row in enumerate(rows[::-1]))
        if delta > 0.1:
            found.append(
                finding(label, name=names[label], delta=delta, ci95=(delta - 0.1, delta + 0.1), images=bearing)
            )
        row = {
            "proxy": "occlusion",
            "method": "sliding window",
            "label": label,
            "budget": settings.budgets[0],
            "area": 0.06,
        }
        proxies.append(ProxyRow(**row, delta=delta, ci95=None, n=len(rows)))
    on_progress(len(images), len(images))
    return ModelAudit(
        findings=tuple(found),
        suspicions=(),
        accuracy=float(right.float().mean()),
        per_class={label: float(right[labels == label].float().mean()) for label in labels.unique().tolist()},
        proxies=tuple(proxies),
        left_out=() if model.differentiable(images) else ("attribution is left out: no gradient reaches the input",),
        images_evaluated=model.images_seen,
        seconds=0.1,
    )


def fake_relative(model, baseline, images, labels, audit, name, baseline_name, seed) -> tuple[RelativeRow, ...]:
    rows = []
    for one in audit.findings:
        own = labels == one.label
        row = {
            "model": name,
            "baseline": baseline_name,
            "label": one.label,
            "mask": "the box in black",
            "area": one.area,
        }
        other = fake_audit(baseline, images, labels, dict.fromkeys(labels.unique().tolist(), ""))
        lost = next(proxy.delta for proxy in other.proxies if proxy.label == one.label)
        row |= {
            "delta": one.delta,
            "delta_baseline": lost,
            "sfr_rel": one.delta - lost,
            "ci95": None,
            "n": int(own.sum()),
        }
        rows.append(RelativeRow(**row))
    return tuple(rows)
