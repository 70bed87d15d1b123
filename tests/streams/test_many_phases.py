"""Any number of phases: cues that come, go and change, their splits, what training and replay paint, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from einstellung.cues import PatchCue
from einstellung.errors import InputError
from einstellung.experiments.samples import stream_samples
from einstellung.randomness import generator
from einstellung.streams import ImageSet, Presentation, prove, shapes
from einstellung.streams.duplicates import Duplicates, deduplicated_phases

from .broken import failed, with_split, with_train
from .four_phases import PHASES, four_phases

CUE = ("shortcut_normal", "shortcut_masked", "nonshortcut_normal", "val", "shortcut_clean", "nonshortcut_patched")


@pytest.fixture(scope="module")
def stream():
    return four_phases()


def test_four_phases_prove_themselves(stream):
    proof = prove(stream)
    assert [check.name for check in proof.checks if check.passed is not True] == []
    assert proof.facts["training_images"] == dict.fromkeys(("T1", "T2", "T3", "T4"), 6 * 8)


def test_the_splits_of_every_phase(stream):
    names = [split.name for split in stream.splits]
    plain = [f"{phase}_{part}" for phase in ("T1", "T3") for part in ("all", "val")]
    with_cue = [f"{phase}_{part}" for phase in ("T2", "T4") for part in ("all", *CUE, "shortcut_elsewhere")]
    assert sorted(names) == sorted(plain + with_cue)
    assert all(split.phase == split.name.partition("_")[0] for split in stream.splits)
    assert {split.name for split in stream.splits if split.held_out} == {f"T{number}_val" for number in (1, 2, 3, 4)}


def test_the_head_has_every_phase_with_its_cue_classes_first(stream):
    outlines = [name.split()[0] for name in stream.class_names[::3]]
    assert outlines == ["triangle", "square", "frame", "star", "lens", "moon", "ring", "disc"]
    assert [phase.cue_classes for phase in stream.phases] == [(), (6, 7, 8), (), (18, 19, 20)]


def test_the_same_phases_without_a_cue_have_the_same_labels_and_images(stream):
    without = four_phases([{**phase, "cue": None} if "cue" not in phase else phase for phase in PHASES])
    assert without.class_names == stream.class_names
    for one, other in zip(stream.phases, without.phases, strict=True):
        assert torch.equal(one.train.images, other.train.images)
        assert torch.equal(one.train.labels, other.train.labels)
    assert [bool(phase.train.has_cue.any()) for phase in without.phases] == [False, False, False, True]


def test_shares_are_exact_by_class_and_phase(stream):
    def share(phase, labels):
        train = stream.phase(phase).train
        return float(train.has_cue[torch.isin(train.labels, torch.tensor(labels))].float().mean())

    assert [share("T2", [label]) for label in (6, 7, 8, 9)] == [0.75, 0.75, 0.75, 0.0]
    assert [share("T4", [label]) for label in (18, 21)] == [1.0, 0.5]


def test_the_split_of_all_test_images_shows_them_as_training_does(stream):
    shown, clean = stream.split("T4_all").images, stream.split("T4_shortcut_clean").images
    assert len(shown) == 24
    cue = stream.cue_of("T4")
    sc = torch.isin(shown.labels, torch.tensor([18, 19, 20]))
    assert torch.equal(shown.images[sc], cue.paint(clean.images, clean.index))
    assert int(shown.has_cue[~sc].sum()) == 6  # half of four images of each of three classes


def test_replay_paints_every_phase_with_its_own_cue(stream):
    """One batch with images of all phases, all flagged: each gets the cue of the phase that its label belongs to."""
    index = torch.arange(4)
    labels = torch.tensor([0, 6, 12, 18])
    canvas = ImageSet(torch.full((4, 3, 16, 16), 9, dtype=torch.uint8), labels, index, torch.ones(4, dtype=torch.bool))
    shown = Presentation(replace(stream, crop_padding=0)).training_pixels(canvas, generator(0, "a"), None)
    magenta, green = [255, 0, 255], [0, 255, 0]
    assert shown[1, :, 0, 0].tolist() == magenta
    assert shown[1, :, 15, 15].tolist() == [9, 9, 9]
    assert shown[3, :, 15, 15].tolist() == green
    assert shown[3, :, 0, 0].tolist() == [9, 9, 9]
    none = replace(canvas, has_cue=torch.zeros(4, dtype=torch.bool))
    assert torch.equal(Presentation(stream).painted(none.images, none), none.images)


def test_phases_may_have_names_of_their_own():
    phases = [
        {"name": "day", "classes": [0, 1], "shortcut": [0]},
        {**PHASES[3], "name": "night", "cue": {"name": "patch"}},
    ]
    stream = four_phases(phases)
    assert [phase.name for phase in stream.phases] == ["day", "night"]
    assert stream.cue_of("day") == PatchCue(size=3, share=0.75)
    assert stream.cue_of("night") == PatchCue(size=3, share=0.75)
    assert prove(stream).holds


def test_samples_show_the_last_phase_with_a_cue():
    stream = four_phases([PHASES[0], PHASES[1], {"classes": ["moon", "lens"]}])
    assert stream_samples(stream)


@pytest.mark.parametrize("phase", [1, 3])
def test_a_phase_that_lost_its_cue_in_training_fails(stream, phase):
    train = stream.phases[phase].train
    bare = replace(train, has_cue=torch.zeros(len(train), dtype=torch.bool))
    assert failed(with_train(stream, phase, bare)) == ["training shows the cue where configured"]


def test_a_cue_in_a_phase_without_one_fails(stream):
    train = stream.phases[2].train
    assert failed(with_train(stream, 2, replace(train, has_cue=train.has_cue | True))) == [
        "training shows the cue where configured"
    ]


def test_a_mask_of_another_phase_s_cue_fails(stream):
    masked, patched = (stream.split(f"T4_shortcut_{part}").images for part in ("masked", "normal"))
    wrong = stream.cue_of("T2").region(patched.index, 16, 16)
    pixels = torch.where(wrong, torch.zeros_like(patched.images), patched.images)
    broken = with_split(stream, "T4_shortcut_masked", replace(masked, images=pixels))
    assert failed(broken) == ["the mask covers exactly the cue, on the same image"]


def test_a_displaced_cue_of_another_phase_fails(stream):
    moved = with_split(stream, "T2_shortcut_elsewhere", stream.split("T2_shortcut_clean").images)
    assert failed(moved) == ["the displaced cue is present and clear of its usual place"]


def test_duplicates_leave_the_later_phase():
    def images(*index):
        rows = torch.tensor(index)
        return ImageSet.without_cue(torch.zeros(len(rows), 3, 2, 2, dtype=torch.uint8), rows * 0, rows)

    known = Duplicates(within_train=((2, 5), (3, 8)), handling="drop")
    sets = deduplicated_phases(
        known, {"T1": images(1, 2), "T2": images(3, 4), "T3": images(5, 6)}, {"T2": images(8), "T3": images(9)}, {}
    )
    assert [sets.train[phase].index.tolist() for phase in ("T1", "T2", "T3")] == [[1, 2], [3, 4], [6]]
    assert sets.val["T2"].index.tolist() == []
    assert sets.between_phases == 1
    assert "training images of a later phase that are also in an earlier phase: 1" in sets.describe()


@pytest.mark.parametrize(
    ("phases", "words"),
    [
        ([PHASES[0]], "stream.phases must list at least two phases"),
        ("T1", "stream.phases must list at least two phases"),
        ([PHASES[0], 3], r"stream.phases\[1\] is 3: give a phase as"),
        ([PHASES[0], {"shortcut": [1]}], r"stream.phases\[1\] \(T2\) has no classes"),
        (
            [PHASES[0], {"classes": [0], "shortcut": [1]}],
            r"phases\[1\].shortcut names 'square plain', which is not a class",
        ),
        ([PHASES[1], {**PHASES[1], "classes": ["frame", "moon"]}], "'frame plain' is in T1 and in T2"),
        ([PHASES[0], {"classes": ["rnig", 3], "shortcut": [3]}], "names 'rnig', which is not a class.*'ring'"),
        ([PHASES[0], {"classes": [12], "shortcut": [12]}], "names 12, which.*numbers 0 to 11"),
        ([PHASES[0], {**PHASES[1], "shortcut": ["frame", "star"]}], "holds all classes of T2: leave some without"),
        ([PHASES[0], PHASES[2]], "no phase has a cue"),
        ([PHASES[0], {"classes": ["moon"], "cue": {"share": 1}}], "has a cue, but no shortcut classes"),
        (
            [PHASES[0], {**PHASES[1], "cue": {"shere": 1}}],
            r"unknown key 'stream.phases\[1\].cue.shere': did you mean 'share'",
        ),
        ([PHASES[0], {**PHASES[1], "cue": {"share": 2}}], r"phases\[1\].cue: cue.share is 2.0"),
        ([PHASES[0], {**PHASES[1], "cue": {"name": "tokens"}}], r"cue.name is 'tokens': there are: patch"),
        ([PHASES[0], {**PHASES[1], "cue": {"habit": "same"}}], "cue.habit: with phases, give the first phase a cue"),
        ([PHASES[0], {**PHASES[1], "cue": "patch"}], "cue is 'patch': give its changes"),
        ([PHASES[0], {**PHASES[1], "clases": []}], r"unknown key 'stream.phases\[1\].clases': did you mean 'classes'"),
        ([PHASES[0], {**PHASES[1], "name": "T 2"}], r"phases\[1\].name is 'T 2'"),
        ([{**PHASES[0], "name": "day"}, PHASES[1]], "are named day, T2: name all of them, or none"),
        ([{**PHASES[0], "name": "a"}, {**PHASES[1], "name": "a"}], "two phases are named 'a'"),
        ([PHASES[0], {**PHASES[1], "classes": [2, 2]}], "names a class twice"),
    ],
)
def test_what_is_wrong_with_the_phases_is_one_line(phases, words):
    with pytest.raises(InputError, match=words) as error:
        four_phases(phases)
    assert "\n" not in str(error.value)


def test_options_of_two_phases_and_a_habit_have_no_place_beside_phases():
    with pytest.raises(InputError, match=r"stream\.t1 belongs to the two phases"):
        four_phases(t1=(0,))
    with pytest.raises(InputError, match=r"cue\.habit is 'same': with phases"):
        shapes(PatchCue(habit="same"), phases=PHASES, size=16, train_per_class=4, test_per_class=2)


def test_validation_that_takes_nothing_or_everything_is_refused():
    with pytest.raises(InputError, match="holds out 0 of 4 training images of 'triangle plain' in T1"):
        four_phases(train_per_class=4, validation=0.1)
