"""Einstellung: does a continual learner adapt for the right reason?"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def audit(model: Any, images: Any, labels: Any, baseline: Any = None, **options: Any) -> Any:
    """Audit a classifier for cues that nobody knows.

    ``model`` and ``baseline``: torch modules or other functions from a float batch [N, C, H, W] to logits. ``images``: bytes or
    numbers in 0..1, [N, C, H, W] or [N, H, W, C]; ``labels``: class numbers. With a baseline (the model before an update, or one
    trained from scratch) the relative index is computed too. Options: ``names`` of the classes, ``mean`` and ``std`` that inputs
    are normalised with, ``budgets``, ``probes``, ``classes``, ``most_images``, ``seed`` and ``on_progress(done, total)``.

    The result (:class:`einstellung.experiments.auditing.AuditResult`) has ``findings``, ``suspicions``, ``cannot_tell``,
    ``to_json()`` and ``save(folder)``, which writes a page.
    """
    auditing = import_module("einstellung.experiments.auditing")  # here: torch takes seconds to import
    return auditing.audit_arrays(model, images, labels, baseline, **options)
