"""Classes by name, and inputs that occur twice."""

from __future__ import annotations

import pytest
import torch

from einstellung.errors import InputError
from einstellung.streams.by_name import describe_repeats, parts_by_name, without_repeats

LABELS = torch.arange(4).repeat(20)


def parts(t1="ab", t2="cd", shortcut="c", names="abcd", train=LABELS, test=LABELS, validation=0.1, **more):
    return parts_by_name(names, t1, t2, shortcut, train=train, test=test, validation=validation, **more)


def test_the_numbers_are_in_the_order_of_the_names_given():
    assert parts(t1="ba", t2="dc", shortcut="d") == {"t1": (1, 0), "t2": (3, 2), "shortcut": (3,)}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"t1": "ax"}, "stream.t1 names 'x', which is not a class of the data"),
        ({"t1": ""}, "stream.t1 is empty: name some classes of the data"),
        ({"t1": "abc"}, "c is in stream.t1 and in stream.t2: phases must not share a class"),
        ({"shortcut": "b"}, "stream.shortcut names b, which is not in stream.t2"),
        ({"shortcut": "cd"}, "stream.shortcut holds all of stream.t2: leave at least one class without the cue"),
        ({"validation": 1.0}, "stream.validation is 1.0: it must lie between 0 and 1"),
        ({"validation": 0.01}, "stream.validation 0.01 holds out 0 of 20 training images of 'c': choose another share"),
        ({"validation": 0.01, "one": "series"}, "holds out 0 of 20 training series of 'c'"),
        ({"test": LABELS[LABELS != 3], "one": "mail"}, "class 'd' has no test mail"),
        ({"train": LABELS[LABELS != 0]}, "class 'a' has no training image"),
        ({"t1": "ax", "prefix": ""}, "^t1 names 'x'"),
    ],
)
def test_what_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        parts(**given)


def test_of_equal_inputs_the_first_training_one_is_kept():
    train = torch.tensor([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [5.0, 6.0]])
    test = torch.tensor([[3.0, 4.0], [7.0, 8.0], [7.0, 8.0]])
    kept = without_repeats(train, test)
    assert [one.tolist() for one in kept] == [[True, True, False, True], [False, True, True]]
    assert describe_repeats(*kept) == ("left out as repeats of training inputs: 1 of 4 training and 1 of 3 test inputs")
