"""``ucr``: classes of a set of the archive in two phases, in small and the real sets where they lie."""

from __future__ import annotations

import os

import numpy as np
import pytest

from einstellung.cues.series import OffsetCue, SpikeCue
from einstellung.errors import InputError
from einstellung.streams import prove, ucr


@pytest.fixture
def archive(tmp_path):
    """A set of seven classes, 1 to 7, with ten training series and two test series each; one is there twice."""

    def put(name, classes=7):
        draws = np.random.default_rng(0)
        for part, count in (("TRAIN", 10), ("TEST", 2)):
            values = draws.normal(size=(classes * count, 20))
            if part == "TRAIN":
                values[1] = values[0]
            rows = ["\t".join(map(str, (1 + number // count, *row.round(5)))) for number, row in enumerate(values)]
            (tmp_path / f"{name}_{part}.tsv").write_text("\n".join(rows) + "\n")
        return {"dataset": name, "path": str(tmp_path)}

    return put


@pytest.mark.filterwarnings("ignore:.*not the known")
def test_the_usual_phases(archive):
    stream = ucr(SpikeCue(), **archive("Ships"))
    assert stream.class_names == ("1", "2", "3", "4", "5", "6", "7")
    assert [phase.classes for phase in stream.phases] == [(0, 1, 2, 3, 4), (5, 6)]
    assert stream.phases[1].cue_classes == (5,)
    assert len(stream.phases[0].train) == 49
    assert stream.facts["duplicates"].startswith("left out as repeats of training inputs: 1 of 70 training")
    prove(stream).require()


@pytest.mark.parametrize(
    ("options", "t1", "t2"),
    [
        ({"t2": ("1", "2")}, ("3", "4", "5"), ("1", "2")),
        ({"t1": ("7",)}, ("7",), ("1", "2", "3", "4", "5", "6")),
        ({"t1": ("7",), "t2": ("3", "1"), "shortcut": ("1",)}, ("7",), ("1", "3")),
    ],
)
def test_phases_of_ones_own(archive, options, t1, t2):
    stream = ucr(SpikeCue(), **archive("Ships"), **options)
    named = [{stream.class_names[label] for label in phase.classes} for phase in stream.phases]
    assert named == [set(t1), set(t2)]


def test_what_is_refused(archive):
    with pytest.raises(InputError, match="'Boats' has 2 classes: two phases need at least 3"):
        ucr(SpikeCue(), **archive("Boats", 2))
    with pytest.raises(InputError, match=r"stream\.t1 names '9', which is not a class of the data"):
        ucr(SpikeCue(), **archive("Ships"), t1=("9",))
    with pytest.raises(InputError, match=r"cue\.size 21 does not fit into inputs of length 20"):
        ucr(SpikeCue(size=21), **archive("Ships"))


@pytest.mark.parametrize(("name", "classes"), [("Crop", (16, 8)), ("ElectricDevices", (5, 2))])
def test_the_real_sets(name, classes):
    place = os.environ.get("EINSTELLUNG_DATA")
    if place is None:
        pytest.skip(f"UCR's {name} not found: EINSTELLUNG_DATA is not set")
    try:
        stream = ucr(OffsetCue(), dataset=name, path=place)
    except InputError as error:
        pytest.skip(str(error))
    assert tuple(len(phase.classes) for phase in stream.phases) == classes
    prove(stream).require()
