"""Every code block of the guide does what it promises.

The blocks stand in ``blocks.py`` as they stand in the guide. Only import lines are adapted to where the names are here, and
the dots are filled in. Commands run in this process on a tiny stream; what stands for Mammoth is a little of its own.
"""

from __future__ import annotations

import inspect
import json
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from PIL import Image

import einstellung.guide
from einstellung.backbones import VisionTransformer
from einstellung.bridges.mammoth import integration, register_datasets
from einstellung.guide import flags
from einstellung.guide.comprehensive import guide_settings
from einstellung.guide.settings import translated
from einstellung.results.config import build_config, read_config, with_assignments
from einstellung.streams.two_phase import Split
from einstellung.timeline import Timeline
from tests.bridges import mammoth_stand_in as stand_in
from tests.experiments.conftest import typed

from . import blocks
from .conftest import leave_figures_out, run_command, run_jobs_here

STREAM = "{name: shapes, size: 8, train_per_class: 5, test_per_class: 1, validation: 0.2, input_size: null}"
SMALL = (
    f"--set=stream={STREAM}",
    "--set=training={batch_size: 32, precision: fp32, epochs: [1, 1], milestones: []}",
    "--set=learners.ewc_on.fisher_images=8",
)
NARROW = ("--set=backbone.width=4",)
ADAPTED = {
    "from utils.einstellung_integration import enable_einstellung_integration": (
        "from einstellung.guide import enable_einstellung_integration, get_einstellung_evaluator"
    ),
    "from utils.einstellung_evaluator import": "from einstellung.guide import",
    "from utils.einstellung_metrics import": "from einstellung.guide import",
}


def names(**more):
    """What a block finds around it: the guide's names, and what the test gives."""
    return {name: getattr(einstellung.guide, name) for name in einstellung.guide.__all__} | more


def run(block, namespace):
    for theirs, ours in ADAPTED.items():
        block = block.replace(theirs, ours)
    exec(compile(block, "a block of the guide", "exec"), namespace)
    return namespace


def commands(block):
    """The words after ``python run_einstellung_experiment.py``, for every command."""
    lines = [line.split() for line in block.splitlines() if line and not line.startswith("#")]
    assert all(line[:2] == ["python", "run_einstellung_experiment.py"] for line in lines)
    return [line[2:] for line in lines]


def entries(tree):
    """The files that a drawn tree names, as paths below its top."""
    found, folders = [], []
    for line in tree.splitlines()[1:]:
        depth = re.search(r"[├└]", line).start() // 4
        name = re.sub(r"^[│├└─ ]+", "", line).split("#")[0].strip()
        folders = [*folders[:depth], name.rstrip("/")]
        if not name.endswith("/"):
            found.append("/".join(folders))
    return found


def signature(function):
    return list(inspect.signature(function).parameters)


BASIC, VIT, COMPARATIVE = commands(blocks.QUICK_START)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    speed_up(monkeypatch)


def speed_up(patch):
    run_jobs_here(patch)
    leave_figures_out(patch)


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The guide's comparative command, run once."""
    root = tmp_path_factory.mktemp("compared") / "einstellung_results"
    with pytest.MonkeyPatch.context() as patch:
        speed_up(patch)
        said = run_command(*COMPARATIVE, f"--results_root={root}", *SMALL, *NARROW)
    assert said.code == 0, said.err
    return root, said


# 1, 9, 17: commands


def test_overview(compared):
    """With --auto_checkpoint the finished run is used: nothing is trained, and that is said."""
    root, _ = compared
    (words,) = commands(blocks.OVERVIEW)
    weights = next(root.glob("studies/*/runs/derpp-seed42/model.safetensors"))
    before = weights.stat().st_mtime_ns
    said = run_command(*words, f"--results_root={root}", *SMALL, *NARROW)
    assert said.code == 0, said.err
    assert "derpp seed 42: already finished, reused" in said.err
    assert weights.stat().st_mtime_ns == before


def test_quick_start_basic(tmp_path, compared):
    said = run_command(*BASIC, f"--results_root={tmp_path}", *SMALL, *NARROW)
    assert said.code == 0, said.err
    assert (tmp_path / "derpp_resnet18_seed42" / "einstellung_final_results.json").exists()
    again = run_command(*BASIC, f"--results_root={tmp_path}", *SMALL, *NARROW)
    assert "--auto_checkpoint reuses it, --force_retrain retrains it" in again.error


def test_quick_start_vit_with_attention_analysis(tmp_path):
    whole = flags.configured(flags.parsed(VIT), lambda line: None)
    assert (whole.methods, whole.backbone.name, whole.stream.input_size) == (("ewc_on",), "vit_base_patch16_224", 224)
    assert whole.attention is not None
    small = [
        "--set=backbone={name: vit, dim: 12, depth: 1}",
        "--set=stream.size=32",
        "--set=learners.ewc_on.e_lambda=1.0",
    ]
    said = run_command(*VIT, f"--results_root={tmp_path}", *SMALL, *small)
    assert said.code == 0, said.err
    analysis = json.loads((tmp_path / "ewc_on_vit_seed42" / "attention_analysis.json").read_text())
    assert {row["split"] for row in analysis["readings"]} >= {"T1_all", "T2_shortcut_normal", "T2_shortcut_masked"}
    assert set(analysis["rollout"]) >= {"AS_cue", "SAG", "CTAS", "ADI"}
    assert analysis["rollout"]["AS_cue"] is not None


def test_quick_start_comparative(compared):
    root, said = compared
    found = {path.name for path in root.glob("*_resnet18_seed42")}
    methods = ("sgd", "ewc_on", "derpp", "scratch_t2", "interleaved")
    assert found == {f"{method}_resnet18_seed42" for method in methods}
    for method in methods:
        assert method in said.out


def test_debug_mode(tmp_path):
    (words,) = commands(blocks.DEBUG)
    said = run_command(*words, f"--results_root={tmp_path}", *SMALL, *NARROW)
    assert said.code == 0, said.err
    assert "T2 epoch 1: T2_shortcut_normal acc" in said.err
    assert "guide_threshold: 0.8" in said.err


# 2: the tree of the implementation


def test_architecture_every_file_has_its_place_here():
    places = {
        "datasets/seq_cifar100_einstellung.py": "einstellung.guide.MagentaPatchInjector",
        "datasets/configs/seq-cifar100/einstellung.yaml": "einstellung.guide.settings.translated",
        "utils/einstellung_metrics.py": "einstellung.guide.EinstellungMetricsCalculator",
        "utils/einstellung_attention.py": "einstellung.guide.EinstellungAttentionAnalyzer",
        "utils/einstellung_evaluator.py": "einstellung.guide.EinstellungEvaluator",
        "utils/einstellung_integration.py": "einstellung.guide.enable_einstellung_integration",
        "experiments/einstellung_runner.py": "einstellung.guide.EinstellungExperimentRunner",
        "run_einstellung_experiment.py": "einstellung.guide.command.main",
    }
    assert entries(blocks.ARCHITECTURE) == list(places)
    for place in places.values():
        module, _, name = place.rpartition(".")
        assert callable(getattr(import_module(module), name))
    assert (Path(__file__).parents[2] / "run_einstellung_experiment.py").exists()


# 3, 4: the data set


def test_superclasses():
    theirs = run(blocks.SUPERCLASSES, {})
    config = build_config(translated({"dataset": "seq-cifar100-einstellung"}))
    chosen = {"t1": Split.t1, "t2": Split.t2, "shortcut": Split.shortcut} | config.stream.options
    for name, key in {"T1": "t1", "T2": "t2", "SHORTCUT": "shortcut"}.items():
        numbers = theirs[f"{name}_SUPERCLASSES"]
        assert getattr(einstellung.guide, f"{name}_SUPERCLASSES") == numbers
        assert list(chosen[key]) == numbers


def test_patch_injection():
    theirs = run(blocks.PATCH, {})["MagentaPatchInjector"]
    ours = einstellung.guide.MagentaPatchInjector
    assert signature(ours.apply_patch) == signature(theirs.apply_patch)
    grey = Image.new("RGB", (32, 32), (90, 90, 90))
    painted = [np.asarray(ours().apply_patch(grey, index)) for index in (3, 3, 4)]
    assert np.array_equal(painted[0], painted[1])
    assert not np.array_equal(painted[0], painted[2])
    assert ((painted[0] == (255, 0, 255)).all(-1)).sum() == 16


# 5, 13: metrics


def measured(threshold_epoch=30):
    """The guide's block, its middle run for every epoch of both tasks, its dots filled in."""
    block = blocks.CALCULATOR.replace(", ...}", "}")
    begin, add, end = re.split(r"\n(?=# (?:Add|Calculate))", block)
    namespace = run(begin, names())
    run(add, namespace | {"epoch": threshold_epoch, "task_id": 0})
    rest = "'T2_shortcut_normal': 0.92, 'T2_shortcut_masked': 0.46, 'T2_nonshortcut_normal': 0.92"
    run(add.replace("'T2_shortcut_normal': 0.92", rest), namespace | {"epoch": 50, "task_id": 1})
    return run(end, namespace)["metrics"]


def test_calculator(capsys):
    """T1 at .85 after epoch 30: .4 * .6; half of the accuracy is lost without the cue: .4 * .5; SFR one half: .1."""
    metrics = measured()
    assert metrics.eri_score == pytest.approx(0.24 + 0.2 + 0.1)
    assert capsys.readouterr().out == f"ERI Score: {metrics.eri_score}\n"
    assert metrics.band == "moderate"


def test_statistics(capsys):
    """Three experiments: scores .54 and .04 more or less; their deviation is .04."""
    run(blocks.STATISTICS, names(metrics_list=[measured(epoch) for epoch in (25, 30, 35)]))
    assert capsys.readouterr().out.splitlines()[-1] == "ERI Score: 0.5400 ± 0.0400"


# 6, 14: attention


def test_attention_analysis_and_its_figure(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    images = torch.rand(3, 3, 32, 32)
    namespace = names(model=VisionTransformer(10, dim=12, depth=2), device="cpu", batch_inputs=images, epoch=4)
    metrics = run(blocks.ANALYZER, namespace)["metrics"]
    assert (metrics["subset"], metrics["epoch"], metrics["n"]) == ("T2_shortcut_normal", 4, 3)
    for metric in ("AS", "SAG", "CTAS", "ADI"):
        assert (metrics[metric] is None) == (metric in metrics["why_undefined"])
    assert metrics["AS"] < 0 < metrics["ADI"]
    masked = images.clone()
    masked[:, :, :4, :4] = 0
    run(
        blocks.VISUALIZATION,
        namespace | {"t1_inputs": images, "t2_shortcut_inputs": images, "t2_masked_inputs": masked},
    )
    assert Image.open(tmp_path / "attention_comparison.png").format == "PNG"


# 7, 8, 11, 18: Mammoth


@pytest.fixture
def mammoth(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(integration, "_current", None)
    stand_in.install(monkeypatch)
    register_datasets()


def experiment_args():
    words = "--dataset seq-shapes-einstellung --model sgd --seed 5 --n_epochs 1 --batch_size 64"
    return stand_in.parse_args([*words.split(), "--einstellung_train_per_class=10", "--einstellung_test_per_class=1"])


def test_evaluator_has_the_hooks():
    theirs = run(blocks.EVALUATOR, {})["EinstellungEvaluator"]
    ours = einstellung.guide.EinstellungEvaluator
    hooks = ("meta_begin_task", "after_training_epoch", "meta_end_task")
    assert [name for name in vars(theirs) if not name.startswith("__")] == list(hooks)
    for hook in hooks:
        assert signature(getattr(ours, hook)) == signature(getattr(theirs, hook))


def test_integration_hooks_in_by_itself(mammoth):
    """Begin and end of both tasks, every epoch between, and the export."""
    args = experiment_args()
    run(blocks.INTEGRATION, names(args=args))
    stand_in.main(args)
    timeline = Timeline.read("einstellung_results/mammoth/sgd-seed5/timeline.csv")
    assert sorted(set(zip(timeline.frame["phase"], timeline.frame["epoch"], strict=True))) == [
        ("T1", 0.0),
        ("T1", 1.0),
        ("T2", 0.0),
        ("T2", 1.0),
    ]


def test_programmatic_usage(mammoth):
    namespace = run(blocks.PROGRAMMATIC, {"create_experiment_args": experiment_args, "mammoth_main": stand_in.main})
    metrics = namespace["metrics"]
    assert metrics.performance_deficit is not None
    assert 0 <= metrics.shortcut_feature_reliance <= 1
    assert metrics.why_undefined.startswith("T1_all never reached 0.8")
    assert namespace["evaluator"].get_final_metrics() == metrics


def test_manual_integration(mammoth):
    args = experiment_args()
    model, dataset = stand_in.initialize(args)
    dataset.get_data_loaders()
    evaluator = run(blocks.MANUAL, names(args=args, model=model, dataset=dataset))["evaluator"]
    evaluator.after_training_epoch(model, dataset, 0)
    evaluator.meta_end_task(model, dataset)
    assert evaluator.timeline().curve("sgd", 5, "T1", "T1_all")[0].tolist() == [0.0, 1.0]


# 10: configuration


def test_configuration_means_what_it_says(tmp_path):
    path = tmp_path / "einstellung.yaml"
    path.write_text(blocks.CONFIGURATION)
    messages = []
    config = build_config(translated(read_config(path), messages.append))
    assert (config.stream.name, config.methods, config.backbone.name) == ("cifar100", ("derpp",), "resnet18")
    assert config.cue.options.get("share", 1.0) == 1.0
    assert (config.cue.options["size"], config.cue.options["colour"]) == (4, [255, 0, 255])
    assert (guide_settings(config).guide_threshold, config.evaluation.subsets) == (0.8, "every-epoch")
    assert config.attention is None
    assert messages == ["einstellung_extract_attention: backbone 'resnet18' has no attention, so none is extracted"]


def test_configuration_runs(tmp_path, monkeypatch):
    path = tmp_path / "einstellung.yaml"
    path.write_text(blocks.CONFIGURATION)
    code = typed(monkeypatch, "run", path, *SMALL[:2], *NARROW, "--out", tmp_path / "results")
    assert code == 0
    detailed = json.loads((tmp_path / "results" / "derpp_resnet18_seed42" / "detailed_results.json").read_text())
    given = yaml.safe_load(blocks.CONFIGURATION)
    assert detailed["configuration"]["cue"]["colour"] == given["einstellung_patch_color"]
    assert detailed["final_metrics"]["adaptation_threshold"] == given["einstellung_adaptation_threshold"]
    assert (tmp_path / "results" / "comprehensive_results.json").exists()


# 12: the runner


def test_runner_covers_scenarios_strategies_and_seeds(compared):
    promised = dict(re.findall(r"# (\w+): (.+)", blocks.RUNNER))
    usual = einstellung.guide.EinstellungExperimentRunner().config
    assert ", ".join(usual.scenarios) == promised["Scenarios"]
    assert ", ".join(usual.strategies) == promised["Strategies"]
    assert list(usual.seeds) == json.loads(promised["Seeds"])
    settings = with_assignments({}, [word.removeprefix("--set=") for word in (*SMALL, *NARROW)])
    config = {"seeds": [42], "results_root": compared[0], "settings": settings}
    messages = []
    runner_of = einstellung.guide.EinstellungExperimentRunner
    namespace = names(
        config={**config, "checkpoints": "auto_checkpoint"},
        EinstellungExperimentRunner=lambda config: runner_of(config, messages.append),
    )
    results = run(blocks.RUNNER.replace("runner.run", "results = runner.run"), namespace)["results"]
    assert sum("already finished" in line for line in messages) == 5  # the very runs of the comparative command
    assert results == json.loads((compared[0] / "comprehensive_results.json").read_text())


# 15, 16: results


def test_output_structure(compared):
    root, _ = compared
    assert root.name + "/" == blocks.OUTPUT.splitlines()[0]
    wanted = [name for name in entries(blocks.OUTPUT) if not name.endswith("attention_analysis.json")]
    for name in wanted:
        json.loads((root / name).read_text(), parse_constant=pytest.fail)  # NaN and infinity are no JSON
    assert {path.name for path in (root / "derpp_resnet18_seed42").iterdir()} == {
        Path(name).name for name in wanted if "/" in name
    }  # the rest is for ViT only


def test_detailed_results_have_the_guides_keys(compared):
    theirs = json.loads(blocks.DETAILED.replace("{...}", "{}").replace("[...]", "[]"))
    ours = json.loads((compared[0] / "derpp_resnet18_seed42" / "detailed_results.json").read_text())
    assert list(ours)[: len(theirs)] == list(theirs)
    assert list(ours["final_metrics"])[: len(theirs["final_metrics"])] == list(theirs["final_metrics"])
    assert isinstance(ours["timeline_data"], list)
    for metric in theirs["final_metrics"]:
        assert ours["final_metrics"][metric] is None or isinstance(ours["final_metrics"][metric], float)
    stats = json.loads((compared[0] / "comprehensive_results.json").read_text())["studies"]
    ((_, study),) = stats.items()
    for metric in theirs["final_metrics"]:
        assert set(study["methods"]["derpp"][metric]) == {"mean", "std", "min", "max", "n"}
