"""The audit of one model, from its images and labels to findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor

from einstellung.probes.audit.model import AuditedModel
from einstellung.results.audit_files import ModelAudit

PROXIES = ("occlusion", "attribution", "replacement")


@dataclass(frozen=True)
class AuditSettings:
    """``budgets``: shares of pixels that masks cover; ``proxies``: which of :data:`PROXIES` to run; ``seed`` of all draws."""

    budgets: tuple[float, ...] = (0.02, 0.05)
    proxies: tuple[str, ...] = PROXIES
    seed: int = 0


def audit_model(
    model: AuditedModel,
    images: Tensor,
    labels: Tensor,
    names: Mapping[int, str],
    settings: AuditSettings = AuditSettings(),
    on_progress: Callable[[int, int], object] = lambda done, total: None,
) -> ModelAudit:
    """Audit a model on uint8 images [N, C, H, W] with their labels."""
    raise NotImplementedError
