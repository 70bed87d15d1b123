"""Scenarios, strategies and seeds in one grid, with statistics that can be worked by hand."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from multiprocessing.spawn import get_preparation_data
from pathlib import Path
from statistics import mean, stdev

import pytest

from einstellung.errors import InputError
from einstellung.guide import EinstellungExperimentRunner
from einstellung.guide import runner as module
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

    with pytest.raises(InputError, match="already finished"):
        EinstellungExperimentRunner(config).run_comprehensive_experiment()
    again = EinstellungExperimentRunner({**config, "checkpoints": "auto_checkpoint"}, said.append)
    assert again.run_comprehensive_experiment() == results
    assert sum("already finished, reused" in line for line in said) == 4


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


def test_seeds_as_they_may_be_written():
    assert ExperimentConfig.of({"seeds": "42,123"}).seeds == (42, 123)
    assert ExperimentConfig.of({"seeds": 7}).seeds == (7,)
    with pytest.raises(InputError, match=r"seeds is 1\.5: give whole numbers"):
        ExperimentConfig.of({"seeds": 1.5})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"checkpoints": "force_retain"}, "of checkpoints: did you mean 'force_retrain'"),
        ({"workers": 0}, "workers is 0: give a number from 1"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_written(config, change, words):
    with pytest.raises(InputError, match=words):
        EinstellungExperimentRunner({**config, **change}).run_comprehensive_experiment()
    assert not Path(config["results_root"]).exists()


def test_workers_do_not_start_the_callers_script_again(config, monkeypatch):
    """A script without ``if __name__`` would start the experiment anew in every worker that imports it."""
    seen = []

    def look(*_: object) -> None:
        seen.append(get_preparation_data("worker"))
        raise InputError("enough")

    script = sys.modules["__main__"]
    monkeypatch.setattr(script, "__spec__", None)
    monkeypatch.setattr(script, "__file__", "/mine/experiment.py", raising=False)
    assert get_preparation_data("worker")["init_main_from_path"] == "/mine/experiment.py"
    monkeypatch.setattr(module, "perform", look)
    with pytest.raises(InputError, match="enough"):
        EinstellungExperimentRunner(config).run_comprehensive_experiment()
    assert not [name for name in seen[0] if name.startswith("init_main")]
    assert script.__file__ == "/mine/experiment.py"
