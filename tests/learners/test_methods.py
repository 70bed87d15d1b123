"""From names to learners: combinations by definition or by a short name, their options, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.plan import plan
from einstellung.learners import Composition, Methods, learners
from einstellung.learners.methods import learner_options, options_as_data
from einstellung.results.config import build_config
from einstellung.results.folder import ResultsFolder

REPLAY = {"buffer": 12, "draw": 4, "replay": "earlier"}
STREAM = {"name": "shapes", "train_per_class": 4, "test_per_class": 2}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("erm+er", "the first part must be a replay method"),
        ("er+ewc", "er[+]ewc': ewc cannot be combined with replay; these can: .*erm"),
        ("er+erk", "unknown learner 'erk': did you mean"),
        ("erm-then-joint", "joint starts at the last phase"),
        ("erm-then-er-then-der", "give one method for the first phase and one for all others"),
    ],
)
def test_what_is_no_combination(name, words):
    with pytest.raises(InputError, match=words):
        Methods()[name]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"er": {"replay": "within"}},
            "learners.er[+]erm.er.replay is 'within': a combination replays earlier phases only",
        ),
        ({"er": {"bufer": 1}}, "unknown key 'learners.er[+]erm.er.bufer': did you mean 'buffer'"),
        ({"buffer": 1}, "unknown key 'learners.er[+]erm.buffer': its parts are er and erm"),
        ({"er": 5}, "learners.er[+]erm.er is 5: give the options of er"),
    ],
)
def test_wrong_options_are_named_with_their_place(given, words):
    with pytest.raises(InputError, match=words):
        learner_options("er+erm", given)


def test_a_combination_begins_with_the_options_of_its_parts():
    config = build_config(
        {
            "methods": ["er", "er+erm", "erm-then-er+erm"],
            "learners": {"er": {"buffer": 50, "replay": "earlier"}, "er+erm": {"er": {"draw": 7}}},
        }
    )
    options = resolve(config).learners
    assert options["er+erm"]["er"] == {"buffer": 50, "draw": 7, "replay": "earlier"}
    assert options["erm-then-er+erm"]["er+erm"]["er"] == {"buffer": 50, "draw": 7, "replay": "earlier"}
    again = options_as_data(learner_options("erm-then-er+erm", options["erm-then-er+erm"]))
    assert again == options["erm-then-er+erm"], "what is written down is read back"
    assert Methods().composition("erm-then-er+erm").names == ("erm", "er+erm")


def test_a_method_once_more_under_another_name(make, through):
    """jtt~2 is JTT, with the options that stand under that name, and JTT's where none do."""
    config = build_config(
        {
            "methods": ["er", "er~large", "er~large+erm"],
            "learners": {"er": {"draw": 5, "replay": "earlier"}, "er~large": {"buffer": 70}},
        }
    )
    options = resolve(config).learners
    assert options["er~large"] == {"buffer": 70, "draw": 5, "replay": "earlier"}
    assert options["er~large+erm"]["er~large"] == options["er~large"]
    assert Methods().registered("er~large+erm") == [learners["er"], learners["erm"]]
    assert through(make("er~large", **REPLAY))[0] == through(make("er", **REPLAY))[0]
    with pytest.raises(InputError, match=r"unknown key 'learners\.er~large\.bufer': did you mean 'buffer'"):
        learner_options("er~large", {"bufer": 1})
    with pytest.raises(InputError, match=r"^learners\.gdro~some\.step is -1\.0: it must be at least 0"):
        learner_options("gdro~some", {"step": -1.0})
    with pytest.raises(InputError, match=r"^learners\.derpp\+sd\.sd\.strength is -1\.0"):
        learner_options("derpp+sd", {"sd": {"strength": -1.0}})
    with pytest.raises(InputError, match="after '~' give a word"):
        Methods()["er~"]


def jobs(**values):
    config = resolve(build_config({"stream": STREAM, "seeds": [1], "training": {"precision": "fp32"}, **values}))
    return config, {job.method: job for job in plan(config, build_stream(config)) if job.kind == "run"}


@pytest.mark.parametrize(
    ("name", "definition"),
    [
        ("er+lle", {"parts": ["er", "lle"]}),
        ("erm-then-er+gdro", {"then": ["erm", "er+gdro"]}),
        ("gdro~background", {"of": "gdro"}),
    ],
)
def test_a_short_name_is_the_combination_that_it_stands_for(name, definition):
    options = {"er": {"draw": 5}, "gdro": {"step": 0.1}}
    short, by_name = jobs(methods=[name], learners=options)
    spelled, defined = jobs(methods=[{"name": name, **definition}], learners=options)
    assert short == spelled
    assert short.methods == (name,)
    assert short.model_dump(mode="json")["combinations"][name] == definition
    assert by_name[name] == defined[name]
    assert resolve(short) == short


def test_a_combination_may_have_any_name():
    values = {
        "methods": ["er", {"name": "big", "of": "er"}, {"name": "both", "parts": ["big", "sd"]}],
        "combinations": {"last": {"then": ["erm", "both"]}},
        "learners": {"er": {"draw": 5, "replay": "earlier"}, "big": {"buffer": 70}, "both": {"sd": {"strength": 0.2}}},
    }
    config, runs = jobs(**{**values, "methods": [*values["methods"], "last"]})
    assert config.methods == ("er", "big", "both", "last")
    assert config.learners["big"] == {"buffer": 70, "draw": 5, "replay": "earlier"}
    assert config.learners["last"]["both"] == config.learners["both"]
    assert config.learners["both"]["big"] == config.learners["big"]
    assert runs["both"].folder == "runs/both-seed1"
    assert runs["last"].needs.startswith("first_phases/sgd-seed1-")


def test_a_run_is_known_by_what_its_name_means():
    """A name of the user's own may come to mean something else; a short name cannot."""
    keys = {
        of: {job.method: job.key for job in jobs(methods=[{"name": "mine", "of": of}, "er+mine"])[1].values()}
        for of in ("erm", "sd")
    }
    assert set(keys["erm"].values()).isdisjoint(keys["sd"].values())


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        ([{"name": "sgd", "of": "erm"}], "combinations.sgd: a learner already has that name"),
        ([{"name": "er+sd", "of": "erm"}], r"combinations.er\+sd: that name is short for {'parts': \['er', 'sd'\]}"),
        ([{"name": "a", "of": "b"}, {"name": "b", "of": "a"}], "combinations.a contains itself: a -> b -> a"),
        ([{"name": "mine", "of": "erm"}, "mien"], "unknown learner 'mien': did you mean 'mine'"),
        ([{"name": "mine", "parts": ["sgd", "erm"]}], "'mine': the first part must be a replay method"),
        ([{"name": "mine"}], r"combinations.mine: give one of parts: \[REPLAY, METHOD\]"),
        ([{"name": "mine", "of": "sd", "then": ["sd", "er"]}], "combinations.mine: give one of parts"),
        ([{"name": "mine", "pats": ["er", "sd"]}], "unknown key 'combinations.mine.pats': did you mean 'parts'"),
        ([{"name": "../mine", "of": "sd"}], "combinations"),
        ([{"of": "sd"}], "methods.0"),
        ([{"name": "mine", "of": "sd"}, "mine"], "contains a duplicate"),
    ],
)
def test_a_wrong_definition_is_named(methods, words):
    with pytest.raises(InputError, match=words):
        resolve(build_config({"methods": methods}))


def test_only_what_a_study_defines_is_known_to_it():
    with pytest.raises(InputError, match="unknown learner 'mine'"):
        Methods()["mine"]
    own = Methods({"mine": Composition("of", ("derpp",))})
    assert issubclass(own["mine"], learners["derpp"])
    assert own.registered("mine+sd") == [learners["derpp"], learners["sd"]]


def test_the_example_of_the_documentation_resolves():
    page = (Path(__file__).parents[2] / "docs/learners.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    config = resolve(build_config(yaml.safe_load(block)))
    assert config.methods == ("erm", "replayed-lle", "late-lle", "gdro-background")
    assert config.learners["late-lle"]["replayed-lle"]["er"] == {"buffer": 200, "draw": 16, "replay": "earlier"}


def test_a_results_folder_keeps_what_its_names_mean(tmp_path):
    """More methods may join; a name that means something else now is refused."""
    first, more, other = (
        resolve(build_config({"methods": methods}))
        for methods in ([{"name": "mine", "of": "erm"}], ["er+sd"], [{"name": "mine", "of": "sgd"}])
    )
    folder = ResultsFolder(tmp_path)
    folder.write_config(first)
    assert folder.config() == first
    assert set(folder.adopt(more).combinations) == {"mine", "er+sd"}
    with pytest.raises(InputError, match=r"combinations\.mine\.of = 'erm', not 'sgd'"):
        folder.adopt(other)
