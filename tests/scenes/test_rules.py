"""Rules are read from the published form and from ours, mean what they say, and wrong ones are named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.scenes.attributes import KINDS
from einstellung.scenes.rules import PAPER_RULES, ObjectPattern, RuleBook, read_rules, rules_digest
from tests.scenes.naive import BLUE, LARGE, METAL, MIXED, PLACED_PAIRS, SMALL_CUBE, SPHERE, dictionaries, obeys

FREE = {"shape": "", "size": "", "material": "", "color": ""}
TRUTH = [FREE | {"shape": "sphere"}, FREE | {"shape": "cube", "size": "small"}]
CONFOUNDERS = {"0": [FREE | {"color": "blue"}], "1": [FREE | {"material": "metal"}], "2": [FREE | {"size": "large"}]}


@pytest.fixture
def pair(tmp_path):
    (tmp_path / "IF-gt.json").write_text(json.dumps({"0": TRUTH, "1": TRUTH, "2": TRUTH}))
    (tmp_path / "IF-conf.json").write_text(json.dumps(CONFOUNDERS))
    return tmp_path


def test_the_papers_rules():
    assert RuleBook((SPHERE, SMALL_CUBE), ((BLUE,), (METAL,), (LARGE,)), 4) == PAPER_RULES
    assert PAPER_RULES.ground_truth_words() == "sphere and small cube"
    assert [PAPER_RULES.confounder_words(task) for task in range(3)] == ["blue", "metal", "large"]
    assert not PAPER_RULES.uses_places


@pytest.mark.parametrize("name", [".", "IF-gt.json", "IF-conf.json"])
def test_the_published_pair(pair, name):
    assert read_rules(pair / name) == PAPER_RULES


def test_ours_as_json_and_as_yaml(tmp_path):
    (tmp_path / "rules.json").write_text(json.dumps(PAPER_RULES.to_dict()))
    (tmp_path / "rules.yaml").write_text(
        "ground_truth: [{shape: sphere}, {shape: cube, size: small}]\n"
        "confounders:\n- [{color: blue}]\n- [{material: metal}]\n- [{size: large, color: ''}]\n"
    )
    assert read_rules(tmp_path / "rules.json") == read_rules(tmp_path / "rules.yaml") == PAPER_RULES


def test_any_number_of_tasks_objects_and_places(tmp_path):
    path = tmp_path / "rules.yml"
    path.write_text(
        "ground_truth: [{shape: cylinder}]\nobjects: 3\n"
        "confounders: [[{color: red, side: left}], [{size: small, shape: cube}, {shape: sphere}]]\n"
    )
    book = read_rules(path)
    assert (book.tasks, book.objects, book.uses_places) == (2, 3, True)
    assert [book.confounder_words(task) for task in range(2)] == ["red on the left", "small cube and sphere"]


def own(**changes):
    return json.dumps({"ground_truth": [{"shape": "sphere"}], "confounders": [[{"color": "blue"}]]} | changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("9" * 5_000, "is not valid JSON"),
        ("[]", "must hold 'ground_truth' and 'confounders', not a list"),
        ("{}", "'ground_truth' is missing"),
        (own(grund=1), r"unknown key 'grund': did you mean 'ground_truth'\?|unknown key 'grund'"),
        (own(ground_truth=[]), "ground_truth is empty"),
        (
            own(ground_truth=[{"colour": "blue"}]),
            r"ground_truth\[0\] has an unknown attribute 'colour': did you mean 'color'\?",
        ),
        (own(confounders=[[{"color": "bleu"}]]), r"confounders\[0\]\[0\]: color is 'bleu': did you mean 'blue'\?"),
        (own(confounders=[[{"side": "top"}]]), r"confounders\[0\]\[0\]: side is 'top': there are: left, right"),
        (own(confounders=[[{"color": 3}]]), r"confounders\[0\]\[0\].color is 3: it must be a string"),
        (own(confounders=[[{"color": ""}]]), "matches every object"),
        (own(confounders=[]), "there are no confounders"),
        (own(confounders=[[]]), r"confounders\[0\] is empty"),
        (own(confounders={"0": []}), "confounders must be a list"),
        (own(confounders=[{"color": "blue"}]), r"confounders\[0\] must be a list of patterns"),
        (own(objects=0), "objects is 0: give 1 to 9 with these rules"),
        (own(objects=10), "objects is 10: give 1 to 9 with these rules"),
        (own(objects=True), "objects is True: it must be an integer"),
        (
            own(ground_truth=[{"shape": "sphere"}, {"shape": "cube"}], objects=1),
            r"g \(sphere and cube\) is a contradiction: no scene of 1 objects satisfies it",
        ),
        (json.dumps({"0": TRUTH}), "name the pair NAME-gt.json and NAME-conf.json"),
    ],
)
def test_wrong_files_are_named(tmp_path, text, message):
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_rules(path)
    assert str(path) in str(caught.value)


def test_wrong_pairs_are_named(pair):
    (pair / "IF-gt.json").write_text(json.dumps({"0": TRUTH, "1": TRUTH[:1]}))
    with pytest.raises(InputError, match="task 1 has the ground truth 'sphere' and task 0 'sphere and small cube'"):
        read_rules(pair)
    (pair / "IF-gt.json").unlink()
    with pytest.raises(InputError, match=r"IF-gt.json is missing"):
        read_rules(pair / "IF-conf.json")
    with pytest.raises(InputError, match=r"holds 0 files named \*-gt.json"):
        read_rules(pair)
    (pair / "IF-gt.json").write_text(json.dumps({"0": TRUTH}))
    with pytest.raises(InputError, match=r"IF-gt\.json has 1 tasks, IF-conf\.json has 3: a task is missing"):
        read_rules(pair)
    (pair / "IF-gt.json").write_text(json.dumps({"1": TRUTH}))
    with pytest.raises(InputError, match="must map task numbers, from '0'"):
        read_rules(pair)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="no such file of rules"):
        read_rules(tmp_path / "none.json")
    (tmp_path / "broken.yaml").write_text("a: [")
    with pytest.raises(InputError, match=r"broken\.yaml, line [12], column \d+: not valid YAML"):
        read_rules(tmp_path / "broken.yaml")
    (tmp_path / "broken.yaml").write_text(own(objects="2024-13-45"))  # looks like a date, and there is no such month
    with pytest.raises(InputError, match="objects is '2024-13-45': it must be an integer"):
        read_rules(tmp_path / "broken.yaml")


def test_impossible_file_names_are_named():
    with pytest.raises(InputError, match=r"cannot read .*File name too long"):
        read_rules(Path("a" * 300))


def test_too_many_patterns_are_refused():
    patterns = [
        ObjectPattern(shape=shape, color=colour) for shape in ("cube", "sphere") for colour in ("red", "blue", "gray")
    ]
    sided = [ObjectPattern(**one.to_dict(), side=side) for one in patterns for side in ("left", "right")]
    deep = [ObjectPattern(**one.to_dict(), depth=depth) for one in patterns for depth in ("front", "back")]
    with pytest.raises(InputError, match="the rules have 24 different patterns; at most 20 are supported"):
        RuleBook((sided[0],), tuple((one,) for one in sided[1:] + deep))


def test_the_digest_knows_every_word():
    books = [PAPER_RULES, MIXED, PLACED_PAIRS, RuleBook(PAPER_RULES.ground_truth, PAPER_RULES.confounders, 5)]
    books.append(RuleBook(PAPER_RULES.ground_truth, PAPER_RULES.confounders[::-1]))
    assert len({rules_digest(book) for book in books}) == len(books)


@pytest.mark.parametrize("book", [PAPER_RULES, MIXED, PLACED_PAIRS], ids=["paper", "mixed", "placed"])
def test_truths_against_the_obvious_way(book):
    generator = np.random.default_rng(3)
    attributes = KINDS[generator.integers(len(KINDS), size=(400, book.objects))]
    places = generator.integers(4, size=(400, book.objects)).astype(np.uint8) if book.uses_places else None
    rules = (book.ground_truth, *book.confounders)
    wanted = [[obeys(scene, rule) for rule in rules] for scene in dictionaries(attributes, places)]
    truths = book.truths(attributes, places)
    assert truths.tolist() == wanted
    assert truths.any(axis=0).all()
    assert not truths.all(axis=0).any()


def test_rules_about_places_need_places():
    with pytest.raises(InputError, match="these scenes have none"):
        PLACED_PAIRS.truths(KINDS[:2][None])
