"""The guide's evaluator, its hooks called by hand on a little in the place of Mammoth."""

from __future__ import annotations

import pytest

from einstellung.bridges.mammoth import integration, register_datasets
from einstellung.errors import InputError
from einstellung.guide import (
    EinstellungEvaluator,
    EinstellungMetrics,
    calculate_cross_experiment_eri_statistics,
    create_einstellung_evaluator,
    enable_einstellung_integration,
    get_einstellung_evaluator,
)
from einstellung.timeline import Timeline
from tests.bridges import mammoth_stand_in as stand_in


@pytest.fixture
def mammoth(monkeypatch):
    monkeypatch.setattr(integration, "_current", None)
    stand_in.install(monkeypatch)
    register_datasets()


def arguments(**changes):
    values = {"dataset": "seq-shapes-einstellung", "model": "sgd", "seed": 3, "n_epochs": 1, "batch_size": 32}
    values |= {"einstellung_train_per_class": 10, "einstellung_test_per_class": 1, **changes}
    return stand_in.parse_args([word for key, value in values.items() for word in (f"--{key}", str(value))])


def called_by_hand(evaluator, args):
    """Two tasks of an epoch each."""
    model, dataset = stand_in.initialize(args)
    for _ in range(dataset.N_TASKS):
        loader, _ = dataset.get_data_loaders()
        model.meta_begin_task(dataset)
        evaluator.meta_begin_task(model, dataset)
        model.net.train()
        for inputs, labels, raw in loader:
            model.meta_observe(inputs, labels, raw, epoch=0)
        evaluator.after_training_epoch(model, dataset, 0)
        model.meta_end_task(dataset)
        evaluator.meta_end_task(model, dataset)
        dataset.evaluate(model, dataset)  # as Mammoth does; its loaders draw random numbers


def test_hooks_called_by_hand_end_in_the_guides_metrics(mammoth, tmp_path):
    args = arguments()
    args.einstellung_adaptation_threshold = 0.01
    evaluator = create_einstellung_evaluator(args, results=tmp_path)
    assert isinstance(evaluator, EinstellungEvaluator)
    called_by_hand(evaluator, args)
    metrics = evaluator.get_final_metrics()
    assert isinstance(metrics, EinstellungMetrics)
    epochs, acc = evaluator.timeline().curve("sgd", 3, "T1", "T1_all")
    assert epochs.tolist() == [0.0, 1.0]
    assert metrics.adaptation_delay == (1.0 if acc[1] >= 0.01 else None)
    assert metrics.accuracies["T1_all_after_T1"] == acc[-1]
    assert (metrics.adaptation_threshold, metrics.checkpoint_epoch) == (0.01, 1.0)
    written = Timeline.read(tmp_path / "sgd-seed3" / "timeline.csv")
    assert written.frame.equals(evaluator.timeline().frame)


def test_both_ways_measure_the_same(mammoth):
    """Attached from outside or called by hand: the same rows, and metrics that one statistic takes together."""
    by_hand = EinstellungEvaluator(arguments())
    called_by_hand(by_hand, arguments())
    args = arguments()
    enable_einstellung_integration(args, results=None)
    stand_in.main(args)
    attached = get_einstellung_evaluator()
    assert isinstance(attached, EinstellungEvaluator)
    assert isinstance(attached.get_final_metrics(), EinstellungMetrics)
    assert attached.timeline().frame.equals(by_hand.timeline().frame)
    both = [attached.get_final_metrics(), by_hand.get_final_metrics()]
    stats = calculate_cross_experiment_eri_statistics(both)
    assert stats["performance_deficit"]["n"] == 2
    assert stats["performance_deficit"]["std"] == 0.0
    assert both[1].adaptation_threshold == 0.8


def test_another_dataset_is_refused(mammoth):
    args = arguments()
    args.dataset = "seq-cifar100"
    with pytest.raises(InputError, match="check that the dataset name contains einstellung"):
        create_einstellung_evaluator(args)
