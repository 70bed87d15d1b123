"""Configurations: presets, files, assignments, and what is said about a wrong key."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

import click
import pytest
import yaml

from einstellung.cli import cli
from einstellung.diagnoses import diagnoses
from einstellung.diagnoses.rigidity.settings import RigiditySettings
from einstellung.diagnoses.settings import parse_settings
from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.study import prepare_study
from einstellung.learners import learners
from einstellung.results.config import (
    StudyConfig,
    build_config,
    merged,
    preset_names,
    read_config,
    read_preset,
    to_yaml,
    with_assignments,
)
from einstellung.results.family import Family


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_is_valid_and_its_stream_can_be_built(name, request):
    values = read_preset(name)
    family = Family.of(values, name)
    for study in family.studies(name).values() if family else [build_config(values)]:
        config = resolve(study)
        if config.stream.name == "cifar100":
            request.getfixturevalue("raw_cifar100")  # skips where it is not there
        if config.stream.name == "concon":  # the same tasks with few images: rendering all of them takes long
            few = {"train": 3, "val": 2, "test": 2, "size": 16}
            config = resolve(build_config(merged(config.model_dump(mode="json"), {"stream": few})))
        if config.stream.options.get("input_modality") == "features":  # the same images as they are: features take long
            assert config.stream.options["extractor"] == "efficientnet-lite0"
            few = {"input_modality": "pixels", "extractor": None, "size": 32}
            config = resolve(build_config(merged(config.model_dump(mode="json"), {"stream": few})))
        assert len(build_stream(config).phases) == len(config.training.epochs)


def test_the_protocols_defaults():
    config = build_config({})
    assert config.training.epochs == (50, 50)
    assert config.training.batch_size == 32
    assert (config.training.lr, config.training.momentum, config.training.weight_decay) == (0.01, 0.9, 1e-4)
    assert config.seeds == (42, 123, 456, 789, 1011)
    assert config.training.milestones == (35, 45)
    settings = diagnoses["rigidity"].Settings(**config.score)
    assert (settings.tau, settings.window, str(settings.margins)) == (0.6, 3, "1,0.02,0.02")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"trainig": {}}, r"unknown key 'trainig': did you mean 'training'\?"),
        ({"training": {"epoch": [1, 1]}}, r"unknown key 'training.epoch': did you mean 'epochs'\?"),
        (
            {"stream": {"name": "concon", "sees": "slots"}},
            "^the configuration: 'stream.sees' is now called 'stream.input_modality': rename the key$",
        ),
        ({"training": {"lr": -1}}, "training.lr: input should be greater than 0"),
        ({"training": {"precision": "fp16"}}, "training.precision"),
        ({"methods": []}, "methods"),
        ({"methods": ["sgd", "sgd"]}, "contains a duplicate"),
        ({"seeds": ["a"]}, "seeds.0"),
        ({"seeds": [2**53]}, "seeds.0"),
        ({"seeds": [1.5]}, "seeds.0"),
        ({"name": "../elsewhere"}, "name"),
        ({"training": {"lr": float("inf")}}, "training.lr"),
        ({"stream": {"name": 3}}, "stream.name"),
        (
            {"stream": {"shown_size": None}},
            "^the configuration: 'stream.shown_size' is now called 'stream.input_size': rename the key$",
        ),
        (
            {"training": {"milestones": [[1], 2]}},
            r"milestones: give epochs as a list .* for each phase \(got \[\[1\], 2\]",
        ),
        ({"training": {"milestones": [[1], [0]]}}, r"milestones: give epochs as a list .* \(got \[\[1\], \[0\]\]"),
        ({"training": {"milestones": 5}}, r"training\.milestones: give epochs as a list"),
        (
            {"training": {"milestones": [[1], [2], [3]]}},
            "one list per phase, but epochs has a different number of entries",
        ),
    ],
)
def test_a_wrong_key_or_value_is_named(values, words):
    with pytest.raises(InputError, match=words):
        build_config(values)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"methods": ["sgdd"]}, "unknown learner 'sgdd': did you mean 'sgd'"),
        ({"learners": {"derp": {}}}, "unknown learner 'derp': did you mean 'derpp'"),
        ({"learners": {"derpp": {"beeta": 1}}}, "did you mean 'beta'"),
        (
            {"learners": {"ewc_on": {"e_lambda": "much"}}},
            "learners.ewc_on.e_lambda is 'much': input should be a valid number",
        ),
        (
            {"learners": {"derpp": {"alpha": float("nan")}}},
            "learners.derpp.alpha is nan: input should be a finite number",
        ),
        ({"backbone": {"name": "resnt18"}}, "unknown backbone 'resnt18': did you mean 'resnet18'"),
        ({"backbone": {"name": "resnet18", "widht": 3}}, "unknown key 'backbone.widht': did you mean 'width'"),
        ({"cover": "blak"}, "unknown cover 'blak': did you mean 'black'"),
        ({"cue": {"name": "path"}}, "unknown cue 'path': did you mean 'patch'"),
        ({"cue": {"colr": 1}}, "unknown key 'cue.colr': did you mean 'colour'"),
        ({"cue": {"size": "big"}}, "cue.size is 'big': input should be a valid integer"),
        ({"cue": {"place": [1, 2, 3]}}, r"cue.place is \[1, 2, 3\]: it should be str \| tuple\[int, int\]"),
        ({"cue": {"colour": [1, 2]}}, r"cue.colour is \[1, 2\]: it should be tuple\[int, int, int\]"),
        (
            {"stream": {"name": "cifar100", "labels": "coarse"}},
            "labels is 'coarse': input should be 'fine' or 'superclass'",
        ),
        ({"stream": "shape"}, "unknown stream 'shape': did you mean 'shapes'"),
        ({"stream": {"name": "shapes", "noize": 1}}, "unknown key 'stream.noize': did you mean 'noise'"),
        ({"training": {"epochs": [1]}}, "training.epochs has 1 entry, but the stream 'shapes' has 2 phases"),
    ],
)
def test_a_wrong_name_is_met_with_a_suggestion(values, words):
    with pytest.raises(InputError, match=words):
        build_stream(resolve(build_config(values)))


def test_all_problems_of_a_configuration_are_reported_at_once():
    wrong = {"trainng": {}, "training": {"lr": -1, "optimizer": "sgd"}, "methods": [], "stream": {"sees": "slots"}}
    with pytest.raises(InputError) as raised:
        build_config(wrong, "mine.yaml")
    assert sorted(raised.value.problems) == sorted(
        [
            "mine.yaml: 'stream.sees' is now called 'stream.input_modality': rename the key",
            "mine.yaml: unknown key 'trainng': did you mean 'training'?",
            "mine.yaml: training.lr: input should be greater than 0 (got -1)",
            "mine.yaml: unknown key 'training.optimizer': did you mean 'optimiser'?",
            "mine.yaml: methods: give at least 1 (got [])",
        ]
    )
    assert str(raised.value) == "; ".join(raised.value.problems)


def test_all_problems_of_names_and_options_are_reported_at_once():
    wrong = {
        "methods": ["sgd", "derp"],
        "learners": {"ewc_on": {"e_lamda": 1, "fisher_images": "many"}},
        "cue": {"size": "big", "colr": 1},
        "cover": "blak",
        "backbone": {"name": "resnet18", "widht": 3},
    }
    with pytest.raises(InputError) as raised:
        resolve(build_config(wrong))
    assert list(raised.value.problems) == [
        "unknown learner 'derp': did you mean 'derpp'?",
        "unknown key 'learners.ewc_on.e_lamda': did you mean 'e_lambda'?",
        "learners.ewc_on.fisher_images is 'many': it should be int | None",
        "cue.size is 'big': input should be a valid integer",
        "unknown key 'cue.colr': did you mean 'colour'?",
        "unknown cover 'blak': did you mean 'black'?",
        "unknown key 'backbone.widht': did you mean 'width'?",
    ]


def test_all_problems_of_a_diagnosis_settings_are_reported_at_once():
    settings = diagnoses["rigidity"].Settings
    with pytest.raises(InputError) as raised:
        parse_settings(settings, {"taau": 1, "tau": 2, "window": 0}, "rigidity")
    problems = raised.value.problems
    assert [problem.split(" is ")[0] for problem in problems] == ["score.taau", "score.tau", "score.window"]
    assert "did you mean 'tau'?" in problems[0]


def test_assignments_reach_any_depth_and_know_yaml():
    values = with_assignments({"cue": {"size": 4}}, ["cue.colour=[1, 2, 3]", "training.lr=1e-2", "cover=mean"])
    assert values["cue"] == {"size": 4, "colour": [1, 2, 3]}
    assert build_config(values).training.lr == 0.01
    with pytest.raises(InputError, match="write it as key=value"):
        with_assignments({}, ["training.lr"])


def test_a_file_may_start_from_a_preset(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("preset: demo\nseeds: [7]\ncue: {share: 0.5}\n")
    config = build_config(read_config(path))
    assert config.seeds == (7,)
    assert config.cue.options["share"] == 0.5
    assert config.cue.options["size"] == 4
    assert config.backbone.options == {"width": 8}


def test_a_configuration_survives_its_own_file(tmp_path):
    config = build_config(read_preset("demo"))
    path = tmp_path / "config.yaml"
    path.write_text(to_yaml(config))
    assert build_config(read_config(path)) == config


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a\n- b\n", "must contain 'key: value' lines"),
        ("a: [", "not valid YAML"),
        ("!!python/object:os.system {}", "YAML"),
    ],
)
def test_broken_files_are_named(tmp_path, text, words):
    path = tmp_path / "broken.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read_config(path)
    with pytest.raises(InputError, match="no such configuration"):
        read_config(tmp_path / "absent.yaml")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"backbone": {"name": "resnet18", "width": 0}}, "backbone.width is 0"),
        ({"backbone": {"name": "vit", "heads": 0}}, "must all be at least 1"),
        ({"backbone": {"name": "vit", "image": 24}}, "backbone 'vit' does not fit images of 32x32"),
        ({"score": {"baseline": "scrach_t2"}}, "score.baseline 'scrach_t2' is not among the methods: did you mean"),
        ({"score": {"tau_grid": [2.0]}}, r"score.tau_grid is \[2"),
        ({"score": {"margins": [-1, 0, 0]}}, "score.margins: AD is -1: input should be greater"),
        (
            {"diagnosis": "shortcuts"},
            "diagnosis names 'shortcuts', but the stream '.*' has no splits of several shortcuts",
        ),
        ({"companions": {"confounding": {}}}, "companions names 'confounding', but the stream '.*' has no splits of"),
        ({"companions": {"rigidity": {}}}, "companions names 'rigidity', the study's own diagnosis: leave it out"),
    ],
)
def test_what_would_fail_late_is_found_early(values, words):
    with pytest.raises(InputError, match=words):
        prepare_study(build_config({"stream": {"train_per_class": 4, "test_per_class": 2}, **values}))


def test_the_command_line_has_every_setting_and_names_its_defaults():
    """The help of an option says where kinds differ, and which of them have it."""
    score = cli.commands["score"]
    said = {option.name: getattr(option, "help", None) or "" for option in score.get_params(click.Context(score))}
    for name in diagnoses:
        for key in diagnoses[name].Settings.model_fields:
            assert f"setting_{key}" in said or (key == "phase" and "verdicts" in said["phase"])
    assert "[default: 0.6]" in said["setting_tau"]
    assert "[default: 0.9]" in said["setting_tau"]
    assert said["setting_tau_grid"].startswith("rigidity: ")
    assert "default: 1,0.02,0.02" in said["setting_margins"]


def test_one_of_a_kind_needs_no_list():
    config = build_config({"training": {"epochs": 3}, "seeds": 7, "methods": "sgd", "logging": "csv"})
    assert config.training.epochs == (3, 3)
    assert (config.seeds, config.methods, config.logging) == ((7,), ("sgd",), ("csv",))


def documented_defaults():
    """The configuration that docs/configuration.md says holds the defaults."""
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
    return yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])


def test_the_documented_defaults_are_the_defaults():
    documented = documented_defaults()
    ours = StudyConfig().model_dump(mode="json")
    assert set(documented) == {*ours, "guide_files"} - {"format"}
    for key in ("training", "evaluation"):
        assert documented[key] == ours[key]
    written_out = resolve(build_config({})).model_dump(mode="json")
    for key in ("stream", "cue", "backbone"):
        assert documented[key] == written_out[key], key
    for method, given in documented["learners"].items():
        assert given == asdict(learners[method].Options()), method
    assert RigiditySettings(**documented["score"]) == RigiditySettings()
    for key in ("methods", "seeds", "cover", "attention", "combinations", "companions", "launcher", "logging"):
        assert documented[key] == ours[key], key


def test_the_documentation_of_the_demo_has_its_penalty():
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
    said = re.search(r"\| `demo` \|.*`e_lambda` ([\d.]+)", page)
    assert float(said[1]) == read_preset("demo")["learners"]["ewc_on"]["e_lambda"]
