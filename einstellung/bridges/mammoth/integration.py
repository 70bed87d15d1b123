"""``enable_einstellung_integration(args)``: attach the evaluator to the next model that Mammoth builds."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from einstellung.bridges.mammoth.contract import check_contract
from einstellung.bridges.mammoth.datasets import register_datasets
from einstellung.bridges.mammoth.evaluator import MammothEvaluator
from einstellung.errors import InputError

RESULTS = Path("einstellung_results") / "mammoth"

_current: MammothEvaluator | None = None


def enable_einstellung_integration(
    args: Any,
    *,
    results: Path | str | None = RESULTS,
    method: str | None = None,
    kind: type[MammothEvaluator] = MammothEvaluator,
) -> MammothEvaluator:
    """Measure Mammoth's next run without changing Mammoth's files.

    ``args`` come from Mammoth's ``parse_args``. An evaluator of class ``kind`` is attached to the next model that Mammoth
    builds; its timeline is written below ``results`` (None: kept in memory). A run that continues a checkpoint
    (``--loadcheck``) continues its timeline.
    """
    global _current
    evaluator = kind(args, results=results, method=method, resume=getattr(args, "loadcheck", None) is not None)
    check_contract()
    register_datasets()
    models: Any = import_module("models")
    original = getattr(models.get_model, "without_einstellung", models.get_model)

    def get_model(args: Any, backbone: Any, loss: Any, transform: Any, dataset: Any) -> Any:
        models.get_model = original  # one run per call of enable
        model = original(args, backbone, loss, transform, dataset=dataset)
        attach(evaluator, model)
        return model

    get_model.without_einstellung = original  # type: ignore[attr-defined]
    models.get_model = get_model
    _current = evaluator
    return evaluator


def get_einstellung_evaluator() -> MammothEvaluator:
    """The evaluator of the run that was enabled last."""
    if _current is None:
        raise InputError("Integration not enabled: call enable_einstellung_integration(args) before Mammoth's main")
    return _current


def attach(evaluator: MammothEvaluator, model: Any) -> None:
    """Wrap the model's callbacks so that each also calls the evaluator, after the model's own work."""
    begin_task, observe = model.meta_begin_task, model.meta_observe
    end_epoch, end_task = model.meta_end_epoch, model.meta_end_task

    def meta_begin_task(dataset: Any) -> None:
        begin_task(dataset)
        evaluator.meta_begin_task(model, dataset)

    def meta_observe(*args: Any, **kwargs: Any) -> Any:
        loss = observe(*args, **kwargs)
        evaluator.observed(args[1] if len(args) > 1 else kwargs["labels"])
        return loss

    def meta_end_epoch(epoch: int, dataset: Any) -> None:
        end_epoch(epoch, dataset)
        evaluator.after_training_epoch(model, dataset, epoch)

    def meta_end_task(dataset: Any) -> None:
        end_task(dataset)
        evaluator.meta_end_task(model, dataset)

    model.meta_begin_task, model.meta_observe = meta_begin_task, meta_observe
    model.meta_end_epoch, model.meta_end_task = meta_end_epoch, meta_end_task
