"""``audit``: cues that nobody named, in any classifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from einstellung.experiments.auditing import AuditResult, audit_arrays


def audit(
    model: Callable[..., Any], images: Any, labels: Any, baseline: Callable[..., Any] | None = None, **options: Any
) -> AuditResult:
    """Audit a classifier for cues that nobody knows.

    ``model`` and ``baseline``: torch modules, timm's and Hugging Face's among them, or other functions from a float batch
    [N, C, H, W] to logits. ``images``: bytes or numbers in 0..1, [N, C, H, W] or [N, H, W, C]; ``labels``: class numbers. With a
    baseline (the model before an update, or one trained from scratch) the relative index is computed too. Options: ``names`` of
    the classes, ``mean`` and ``std`` that inputs are normalised with, ``budgets``, ``probes``, ``classes``, ``most_images``,
    ``groups``, ``seed``, ``on_progress(done, total)`` and ``objects``: masks [N, H, W], not 0 where the object is, so that
    backgrounds are tested as well.

    The result shows itself in a notebook and has ``findings``, ``suspicions``, ``cannot_tell``, ``to_json()`` and
    ``save(folder)``, which writes a page.
    """
    return audit_arrays(model, images, labels, baseline, **options)
