"""Series in any number of phases; the scale of their channels."""

from __future__ import annotations

import numpy as np
import torch

from einstellung.cues.series import GapCue, SpikeCue
from einstellung.streams import prove
from einstellung.streams.series import waves
from einstellung.streams.series.building import scale
from einstellung.streams.series.waves import NAMES


def test_every_phase_has_its_own_cue_and_the_proof_holds():
    phases = [
        {"classes": NAMES[:4]},
        {"classes": NAMES[4:8], "shortcut": [NAMES[4]]},
        {"classes": NAMES[8:], "shortcut": [NAMES[9]], "cue": {"name": "gap", "place": "middle"}},
    ]
    stream = waves(SpikeCue(), phases=phases, train_per_class=20, test_per_class=10)
    assert prove(stream).holds
    assert [type(stream.cue_of(phase.name)) for phase in stream.phases[1:]] == [SpikeCue, GapCue]


def test_the_scale_is_that_of_the_classes_in_use():
    series = torch.arange(24.0).view(4, 2, 1, 3)
    found = scale(series, torch.tensor([0, 1, 0, 2]), (0,))
    some = series[[0, 2]].numpy()
    assert np.allclose(found["mean"], some.mean(axis=(0, 2, 3)))
    assert np.allclose(found["std"], some.std(axis=(0, 2, 3)))
