"""Scenarios, strategies and seeds in one grid, with statistics that can be worked by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

import pytest

from einstellung.errors import InputError
from einstellung.guide import EinstellungExperimentRunner
from einstellung.guide.runner import ExperimentConfig
from einstellung.metrics.statistics import holm, paired_t_test

SMALL = {
    "stream": {"name": "shapes", "size": 8, "train_per_class": 8, "test_per_class": 2},
    "backbone": {"name": "resnet18", "width": 8},
    "training": {"batch_size": 16, "precision": "fp32"},
    "score": {"guide_threshold": 0.01},  # so low that every run reaches it and has a score
}
METRICS = ("adaptation_delay", "performance_deficit", "shortcut_feature_reliance", "eri_score")


@pytest.fixture
def config(tmp_path) -> dict:
    return {
        "scenarios": ["sequential", "scratch_t2"],
        "strategies": ["sgd"],
        "seeds": [1, 2],
        "epochs": (1, 2),
        "results_root": tmp_path / "results",
        "workers": 1,
        "settings": SMALL,
    }


def test_a_comprehensive_experiment(config, without_figures, in_process):
    said: list[str] = []
    runner = EinstellungExperimentRunner(config, said.append)
    results = runner.run_comprehensive_experiment()
    root = Path(config["results_root"])
    assert results == json.loads((root / "comprehensive_results.json").read_text())
    (study,) = results["studies"].values()
    assert set(study["methods"]) == {"sgd", "scratch_t2"}
    finals = {
        method: [
            json.loads((root / f"{method}_resnet18_seed{seed}/einstellung_final_results.json").read_text())
            for seed in (1, 2)
        ]
        for method in study["methods"]
    }
    for method, runs in finals.items():
        for metric in METRICS:
            values = [value for run in runs if (value := run["final_metrics"][metric]) is not None]
            stored = study["methods"][method][metric]
            assert stored["n"] == len(values)
            if len(values) == 2:
                assert stored["mean"] == pytest.approx(mean(values))
                assert stored["std"] == pytest.approx(stdev(values))
                assert (stored["min"], stored["max"]) == (min(values), max(values))
    assert study["methods"]["sgd"]["performance_deficit"]["n"] == 2
    (test,) = (test for test in study["tests"] if test["metric"] == "shortcut_feature_reliance")
    pairs = [
        scratch["final_metrics"]["shortcut_feature_reliance"] - sgd["final_metrics"]["shortcut_feature_reliance"]
        for scratch, sgd in zip(finals["scratch_t2"], finals["sgd"], strict=True)
    ]
    assert (test["method"], test["against"], test["n"]) == ("scratch_t2", "sgd", 2)
    assert test["p"] == paired_t_test(pairs).p
    assert test["p_holm"] == holm([test["p"]])[0]

    with pytest.raises(InputError, match="finished already"):
        EinstellungExperimentRunner(config).run_comprehensive_experiment()
    again = EinstellungExperimentRunner({**config, "checkpoints": "auto_checkpoint"}, said.append)
    assert again.run_comprehensive_experiment() == results
    assert sum("used as it is" in line for line in said) == 4


def test_the_guides_grid():
    whole = ExperimentConfig.of(None)
    assert whole.methods == ("sgd", "ewc_on", "derpp", "scratch_t2", "interleaved")
    assert whole.seeds == (42, 123, 456, 789, 1011)
    study = whole.study()
    assert (study.methods, study.seeds, study.stream.name) == (whole.methods, whole.seeds, "cifar100")
    assert study.cue.options["place"] == "per-index"


def test_scenarios_choose_learners():
    assert ExperimentConfig.of({"scenarios": ["interleaved"]}).methods == ("interleaved",)
    assert ExperimentConfig.of({"scenarios": "scratch_t2,sequential", "strategies": "gpm"}).methods == (
        "scratch_t2",
        "gpm",
    )
    with pytest.raises(InputError, match="unknown scenario 'sequentiel': did you mean 'sequential'"):
        _ = ExperimentConfig.of({"scenarios": ["sequentiel"]}).methods


def test_configuration_by_mapping_dataclass_or_the_guides_keys():
    @dataclass
    class Mine:
        strategies: tuple[str, ...] = ("derpp",)
        seeds: tuple[int, ...] = (3,)
        backbone: str = "vit"
        epochs: int = 4

    study = ExperimentConfig.of(Mine()).study()
    assert study.methods == ("derpp", "scratch_t2", "interleaved")
    assert (study.seeds, study.backbone.name, study.training.epochs) == ((3,), "vit", (4, 4))
    assert ExperimentConfig.of({"einstellung_patch_size": 6}).study().cue.options["size"] == 6
    with pytest.raises(InputError, match="unknown key 'seedz' of an experiment: did you mean 'seeds'"):
        ExperimentConfig.of({"seedz": [1]})
    with pytest.raises(InputError, match="a mapping or a dataclass, not a list"):
        ExperimentConfig.of([1])


def test_unknown_strategy_is_named(config):
    with pytest.raises(InputError, match="unknown learner 'derp': did you mean 'derpp'"):
        EinstellungExperimentRunner({**config, "strategies": ["derp"]}).run_comprehensive_experiment()
    assert not Path(config["results_root"]).exists()
