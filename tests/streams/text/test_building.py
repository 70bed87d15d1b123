"""Texts in any number of phases, each with a cue of its own."""

from __future__ import annotations

import pytest
import torch

from einstellung.cues.text import HeaderCue, TagCue, TokensCue
from einstellung.errors import InputError
from einstellung.modalities import PADDING
from einstellung.streams import Presentation, prove
from einstellung.streams.text import phrases
from einstellung.streams.text.phrases import TOPICS

PHASES = [
    {"classes": TOPICS[:3]},
    {"classes": TOPICS[3:6], "shortcut": [TOPICS[4]]},
    {"classes": TOPICS[6:9], "shortcut": [TOPICS[6]], "cue": {"name": "header"}},
    {"classes": TOPICS[9:], "shortcut": [TOPICS[10]], "cue": {"name": "tag"}},
]
SMALL = {"train_per_class": 20, "test_per_class": 10}


def test_every_phase_has_its_own_cue_and_the_proof_holds():
    stream = phrases(TokensCue(), phases=PHASES, **SMALL)
    assert prove(stream).holds
    assert [type(stream.cue_of(phase.name)) for phase in stream.phases[1:]] == [TokensCue, HeaderCue, TagCue]


def test_replay_paints_the_cue_of_the_phase_that_a_text_comes_from():
    stream = phrases(TokensCue(), phases=PHASES, **SMALL)
    presentation = Presentation(stream)
    for phase in stream.phases[1:]:
        marked = phase.train.take(phase.train.has_cue.nonzero().flatten())
        shown = presentation.painted(marked.images, marked)
        assert torch.equal(shown, stream.cue_of(phase.name).paint(marked.images, marked.index))


def test_a_tag_in_any_phase_puts_the_usual_tag_into_all_texts():
    with_tag, without = (phrases(TokensCue(), phases=some, **SMALL) for some in (PHASES, PHASES[:3]))
    assert int((with_tag.phases[0].train.images[..., 0] != PADDING).sum()) == len(with_tag.phases[0].train)
    assert int((without.phases[0].train.images[..., 0] != PADDING).sum()) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"t1": TOPICS[:2]}, "stream.t1 belongs to the two phases T1 and T2"),
        ({"phases": [{"classes": ["topic z"]}, PHASES[1]]}, "names 'topic z', which is not a class of the data"),
        ({"phases": [PHASES[0], {**PHASES[1], "cue": {"name": "patch"}}]}, "patch"),
        ({"phases": [PHASES[1], PHASES[1]]}, "must not share a class"),
    ],
)
def test_bad_phases_are_one_line(changes, message):
    with pytest.raises(InputError, match=message) as found:
        phrases(TokensCue(), **{"phases": PHASES, **SMALL, **changes})
    assert "\n" not in str(found.value)
