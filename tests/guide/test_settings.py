"""Every key of the guide's YAML does what it says, beside our own keys too."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import pytest
import torch
import yaml

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.evaluation_schedule import splits_due
from einstellung.guide.comprehensive import guide_settings
from einstellung.guide.score import guide_score
from einstellung.guide.settings import KEYS, translated, with_guide_keys
from einstellung.randomness import generator
from einstellung.results.config import build_config, merged, read_preset
from einstellung.streams import Presentation, prove
from einstellung.timeline import Timeline
from tests.experiments.conftest import typed

from .blocks import CONFIGURATION as GUIDE_YAML

SHAPES = {"stream": {"name": "shapes", "size": 16, "train_per_class": 5, "test_per_class": 1}}
SMALL = ("--set=stream={name: shapes, size: 8, train_per_class: 8, test_per_class: 2}", "--set=backbone.width=8")


def study(**keys):
    """The study that a file with these keys describes, on drawn shapes unless it names a data set."""
    values = translated({"model": "derpp", **keys})
    return build_config(values if "dataset" in keys else merged(values, SHAPES))


def stream_of(**keys):
    return _stream_of(json.dumps(keys))


@lru_cache
def _stream_of(keys: str):
    return build_stream(resolve(study(**json.loads(keys))))


def painted(stream) -> int:
    """How many training images of T2 the training pipeline changes beyond crop and flip."""
    train = stream.phases[1].train
    clean = Presentation(stream).training_pixels(
        type(train)(train.images, train.labels, train.index, train.has_cue & False), generator(0, "a"), None
    )
    shown = Presentation(stream).training_pixels(train, generator(0, "a"), generator(0, "b"))
    return int((clean != shown).flatten(1).any(dim=1).sum())


def test_the_guides_own_file():
    said: list[str] = []
    config = build_config(translated(yaml.safe_load(GUIDE_YAML), said.append))
    assert said == ["einstellung_extract_attention: backbone 'resnet18' has no attention, so none is extracted"]
    assert config.methods == ("derpp",)
    assert config.seeds == (42,)
    assert config.stream.name == "cifar100"
    assert "guide" in config.companions
    assert config.attention is None
    assert resolve(config.model_copy(update={"stream": study().stream})).cue.options == {
        "size": 4,
        "colour": [255, 0, 255],
        "place": "per-index",
        "opacity": 1.0,
        "share": 1.0,
        "share_nsc": 0.0,
        "habit": "none",
    }


def test_the_defaults_are_those_of_the_preset():
    guide = build_config(read_preset("guide"))
    plain = build_config(translated({"dataset": "seq-cifar100-einstellung"}))
    assert plain == guide
    assert guide.training == build_config(read_preset("paper")).training


def test_the_guides_own_file_on_the_real_images(raw_cifar100, tmp_path, monkeypatch, capsys):
    file = tmp_path / "guide.yaml"
    file.write_text(GUIDE_YAML)
    few = ("--set", "stream.train_per_class=10", "--set", "stream.test_per_class=2")
    assert typed(monkeypatch, "validate", file, *few) == 0
    seen = capsys.readouterr()
    assert "FAIL" not in seen.out
    assert "1 run and 1 first phase to train" in seen.out
    assert "none is extracted" in seen.err


@pytest.mark.parametrize("wrong", [{"companions": 3}, {"companions": {"guide": 3}}])
def test_companions_of_another_form_are_named(wrong):
    with pytest.raises(InputError, match=r"companions.*: input should be a valid dictionary"):
        build_config(with_guide_keys({"guide_files": True, **wrong}))


def test_it_runs_and_leaves_the_guides_files(tmp_path, monkeypatch, capsys, without_figures, in_process):
    file = tmp_path / "guide.yaml"
    file.write_text(GUIDE_YAML + "n_epochs: [1, 2]\nbatch_size: 16\nbuffer_size: 20\nseed: 7\n")
    out = tmp_path / "out"
    assert typed(monkeypatch, "run", file, *SMALL, "--out", out, "--workers", 1) == 0
    assert (out / "derpp_resnet18_seed7" / "detailed_results.json").exists()
    assert (out / "comprehensive_results.json").exists()
    assert (out / "runs/derpp-seed7/timeline.csv").exists()
    ours, _, guides = capsys.readouterr().out.partition(f"report: {out / 'report.html'}\n")
    assert "SFR" in ours
    assert "feature reliance" in guides
    assert guides.endswith(f"results: {out / 'comprehensive_results.json'}\n")
    assert typed(monkeypatch, "run", file, *SMALL, "--out", out, "--workers", 1, "--json") == 0
    assert "derpp" in json.loads(capsys.readouterr().out)["methods"]
    assert typed(monkeypatch, "run", file, *SMALL, "--out", tmp_path / "two", "--set", "einstellung_patch_sise=3") == 2
    assert "did you mean 'einstellung_patch_size'?" in capsys.readouterr().err
    file.write_text("dataset: seq-cifar100-einstellung\nmodle: derpp\n")
    assert typed(monkeypatch, "validate", file) == 2
    assert f"{file}: unknown key 'modle': did you mean 'model'?" in capsys.readouterr().err


def test_a_file_of_ours_stays_as_it_is():
    ours = {"name": "mine", "methods": ["sgd"], "seeds": [1], "backbone": "vit", "training": {"lr": 0.1}}
    assert translated(ours) == ours


@pytest.mark.parametrize(
    ("guide", "ours"),
    [
        ({"n_epochs": 3}, {"training": 5}),
        ({"csv_log": True}, {"logging": None}),
        ({"einstellung_attention_epochs": [1]}, {"attention": True}),
        ({"alpha": 0.1}, {"methods": [1]}),
        ({"dataset": ["seq-cifar100-einstellung"]}, {}),
        ({"code_optimization": [1]}, {}),
    ],
)
def test_what_is_no_setting_at_all_gets_one_line_too(guide, ours):
    with pytest.raises(InputError, match=next(iter(ours or guide))) as error:
        build_config(translated({"backbone": "vit", **guide, **ours}))
    assert "\n" not in str(error.value)


def test_both_kinds_of_keys_side_by_side():
    config = study(lr=0.5, training={"momentum": 0.0}, name="mine", cover="mean")
    assert (config.training.lr, config.training.momentum, config.name, config.cover) == (0.5, 0.0, "mine", "mean")


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("einstellung_patchsize", "did you mean 'einstellung_patch_size'?"),
        (
            "einstellung_attention_qqqqqqqqqqqqqqqqqqqqqqqqqqq",
            "there are: einstellung_adaptation_threshold, einstellung_",
        ),
        ("einstelung_patch_size", "did you mean 'einstellung_patch_size'?"),
        ("datset", "did you mean 'dataset'?"),
        ("n_epoch", "did you mean 'n_epochs'?"),
    ],
)
def test_a_misspelt_key_is_named(key, message):
    with pytest.raises(InputError, match="unknown key") as error:
        translated({"model": "sgd", key: 1})
    assert message in str(error.value)


def test_other_unknown_keys_are_left_to_whoever_knows_ours():
    for key, meant in (("metods", "methods"), ("seedz", "seeds")):
        with pytest.raises(InputError, match=f"unknown key '{key}': did you mean '{meant}'"):
            build_config(translated({key: [1]}))


def test_dataset():
    assert study(dataset="seq-cifar100-einstellung").stream.input_size is None
    assert study(dataset="seq-cifar100-einstellung-224").stream.input_size == 224
    with pytest.raises(InputError, match=r"Integration not enabled: dataset 'seq-cifar100' .*did you mean"):
        study(dataset="seq-cifar100")


@pytest.mark.parametrize("stream", ["shapes", {"name": "shapes", "size": 16}])
def test_a_dataset_that_contradicts_the_stream_is_refused(stream, tmp_path, monkeypatch, capsys):
    line = "dataset 'seq-cifar100-einstellung' and stream.name 'shapes' contradict each other: remove one of them"
    file = tmp_path / "both.yaml"
    file.write_text(yaml.safe_dump({"dataset": "seq-cifar100-einstellung", "stream": stream}))
    assert typed(monkeypatch, "validate", file) == 2
    assert f"{file}: {line}" in capsys.readouterr().err
    assert build_config(translated({"model": "sgd", "stream": stream})).stream.name == "shapes"


@pytest.mark.parametrize("stream", ["cifar100", {"name": "cifar100", "seed": 3}, {"seed": 3}])
def test_a_dataset_may_name_its_own_stream(stream):
    config = build_config(translated({"dataset": "seq-cifar100-einstellung-224", "stream": stream}))
    assert (config.stream.name, config.stream.input_size) == ("cifar100", 224)
    assert config.stream.options.get("seed") == (None if stream == "cifar100" else 3)


def test_model_and_seeds():
    assert study(model="sgd, ewc-on").methods == ("sgd", "ewc_on")
    assert study(model=["gpm", "dgr"]).methods == ("gpm", "dgr")
    assert study(seed=5).seeds == (5,)
    assert study(seeds=[5, 6]).seeds == (5, 6)
    with pytest.raises(InputError, match="model is 7"):
        study(model=7)


def test_backbone():
    assert study(backbone="vit").backbone.name == "vit"
    base = study(backbone="vit_base_patch16_224")
    assert base.stream.input_size == 224
    assert study(dataset="seq-cifar100-einstellung-224", backbone="vit_base_patch16_224").stream.input_size == 224
    with pytest.raises(InputError, match="write dataset: seq-cifar100-einstellung-224"):
        study(dataset="seq-cifar100-einstellung", backbone="vit_base_patch16_224")


def test_training():
    config = study(n_epochs=20, batch_size=8, lr=0.2, optim_mom=0.5, optim_wd=0.01, device="cuda")
    training = config.training
    assert (training.epochs, training.batch_size, training.lr) == ((20, 20), 8, 0.2)
    assert (training.momentum, training.weight_decay, training.device) == (0.5, 0.01, "cuda")
    assert training.milestones_of(0) == (14, 18)  # 35 and 45 of 50
    assert study(n_epochs=20, lr_milestones=[5]).training.milestones == (5,)
    assert study(n_epochs=20, training={"milestones": [3]}).training.milestones == (3,)
    assert study(code_optimization=2).training.precision == "bf16"
    with pytest.raises(InputError, match="code_optimization is 7: give 0, 1, 2 or 3"):
        study(code_optimization=7)


def test_options_of_learners():
    config = study(model="derpp,sgd", buffer_size=9, minibatch_size=3, alpha=0.3, beta=0.7)
    assert config.learners == {"derpp": {"buffer": 9, "draw": 3, "alpha": 0.3, "beta": 0.7}}
    assert study(model="ewc_on", e_lambda=5, gamma=0.9).learners == {"ewc_on": {"e_lambda": 5, "gamma": 0.9}}
    alone = build_config(translated({"methods": "derpp", "alpha": 0.3}))
    assert (alone.methods, alone.learners) == (("derpp",), {"derpp": {"alpha": 0.3}})
    with pytest.raises(InputError, match=r"buffer_size is given, but none of the models \(sgd\) has it"):
        study(model="sgd", buffer_size=9)


@pytest.mark.usefixtures("own_names")
def test_options_of_a_learner_of_ones_own(tmp_path):
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from dataclasses import dataclass\n"
        "from einstellung.learners import Learner, learners\n"
        "@learners.register('guide_mine')\n"
        "class Mine(Learner):\n"
        "    @dataclass(frozen=True)\n"
        "    class Options:\n"
        "        alpha: float = 0.1\n"
    )
    config = study(model="guide_mine", alpha=0.5, plugins=[str(plugin)])
    assert config.learners == {"guide_mine": {"alpha": 0.5}}


def test_logs():
    assert study(csv_log=True, tensorboard=True).logging == ("csv", "tensorboard")
    assert study(csv_log=False).logging == ()
    assert study(tensorboard=True, logging="csv").logging == ("csv", "tensorboard")


def test_apply_shortcut():
    """Without it nobody is trained on the cue; evaluation shows it still, so that both can be compared."""
    with_cue, without = stream_of(), stream_of(einstellung_apply_shortcut=False)
    expected = int(torch.isin(with_cue.phases[1].train.labels, torch.tensor(with_cue.phases[1].cue_classes)).sum())
    assert painted(with_cue) == expected > 0
    assert painted(without) == 0
    assert prove(without).holds
    for name in ("T2_shortcut_normal", "T2_shortcut_masked"):
        assert torch.equal(with_cue.split(name).images.images, without.split(name).images.images)
    assert not bool(without.split("T2_val").images.has_cue.any())
    assert study(einstellung_apply_shortcut=True).cue.options.get("share", 1.0) == 1.0


def test_patch():
    def difference(stream):
        clean, patched = (stream.split(f"T2_shortcut_{kind}").images.images for kind in ("clean", "normal"))
        return (clean != patched).any(dim=1), patched

    usual, _ = difference(stream_of())
    keys = {"patch_size": 6, "patch_color": [0, 255, 0], "patch_place": "bottom-right", "mask_cover": "mean"}
    other = stream_of(**{f"einstellung_{key}": value for key, value in keys.items()})
    changed, shown = difference(other)
    assert usual.flatten(1).sum(dim=1).max() <= 16 < changed.flatten(1).sum(dim=1).max() <= 36
    assert all(shown[i][:, changed[i]].T.unique(dim=0).tolist() == [[0, 255, 0]] for i in range(len(shown)))
    assert changed[:, 10:, 10:].sum() == changed.sum()
    assert usual[:, 10:, 10:].sum() < usual.sum()  # a place of its own in every image
    masked, black = (stream.split("T2_shortcut_masked").images.images for stream in (other, stream_of()))
    assert bool((masked[:, :, 10:, 10:].float().mean(dim=(1, 2, 3)) > 0).all())
    assert all((black[i].sum(dim=0) == 0).sum() >= 16 for i in range(len(black)))


def test_superclasses():
    stream = stream_of(
        einstellung_t1_superclasses=[0, 1], einstellung_t2_superclasses=[4, 5, 6], einstellung_shortcut_superclasses=[5]
    )
    assert stream.facts["superclasses"] == {
        "T1": ["triangle", "square"],
        "T2": ["hourglass", "bars", "moon"],
        "SC": ["bars"],
        "NSC": ["hourglass", "moon"],
    }


def test_adaptation_threshold():
    import pandas as pd

    rows = {"method": "sgd", "seed": 1, "phase": "T1", "epoch": [1, 2], "split": "T1_all", "acc": [0.5, 0.9]}
    timeline = Timeline(pd.DataFrame({**rows, "loss": None, "n": 9}))
    delays = [
        guide_score(timeline, guide_settings(study(einstellung_adaptation_threshold=at)))
        .methods["sgd"]
        .per_seed["1"]
        .adaptation_delay
        for at in (0.4, 0.8)
    ]
    assert delays == [1.0, 2.0]
    assert guide_settings(study()).guide_threshold == 0.8


def test_evaluation_subsets():
    stream = stream_of()
    every, end = (study(einstellung_evaluation_subsets=value).evaluation for value in (True, False))
    t2 = stream.phases[1]
    assert len(splits_due(stream, t2, every, 1, last=False)) == len(stream.splits)
    assert splits_due(stream, t2, end, 1, last=False) == ["T2_val"]
    assert len(splits_due(stream, t2, end, 2, last=True)) == len(stream.splits)


def test_attention():
    asked = study(backbone="vit", einstellung_extract_attention=True, einstellung_attention_epochs=[1, 5])
    assert asked.attention.epochs == (1, 5)
    assert study(backbone="vit").attention is not None  # as in the guide, unless it is switched off
    assert study(backbone="vit", einstellung_extract_attention=False).attention is None
    assert study(backbone="resnet18", einstellung_extract_attention=True).attention is None
    with pytest.raises(InputError, match="remove one of them"):
        study(backbone="vit", einstellung_extract_attention=False, einstellung_attention_epochs=[1])


def test_a_backbone_chosen_on_the_command_line_counts_for_the_file(tmp_path, monkeypatch, capsys):
    """The file asks for attention: with a transformer it is extracted, whatever net the file itself names."""
    seen = []

    def looked(config, *_):
        seen.append(config)
        raise InputError("enough")

    monkeypatch.setattr("einstellung.experiments.study.prepare_study", looked)
    file = tmp_path / "guide.yaml"
    file.write_text(GUIDE_YAML)
    typed(monkeypatch, "validate", file, "--set", "backbone=vit")
    assert "none is extracted" not in capsys.readouterr().err
    base = ("--set", "backbone=vit_base_patch16_224")
    typed(monkeypatch, "validate", file, *base, "--set", "dataset=seq-cifar100-einstellung-224")
    assert [(config.backbone.name, config.attention is None, config.stream.input_size) for config in seen] == [
        ("vit", False, None),
        ("vit_base_patch16_224", False, 224),
    ]
    typed(monkeypatch, "validate", file, *base)
    assert "write dataset: seq-cifar100-einstellung-224" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["apply_shortcut", "evaluation_subsets", "extract_attention"])
def test_truth_is_true_or_false(key):
    with pytest.raises(InputError, match=f"einstellung_{key} is 'often': give true or false"):
        study(**{f"einstellung_{key}": "often"})


def test_every_key_is_on_the_page():
    page = (Path(__file__).parents[2] / "docs" / "guide.md").read_text(encoding="utf-8")
    assert [key for key in KEYS if f"`{key}`" not in page] == []


def test_assignments_need_no_defaults():
    assert with_guide_keys({"name": "mine", "einstellung_patch_size": 3}) == {"name": "mine", "cue": {"size": 3}}
