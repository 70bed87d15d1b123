"""Every learner takes a step in every phase before anything is trained; what would fail late fails in one line."""

from __future__ import annotations

from zlib import crc32

import pytest
import torch

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.rehearsal import _few, rehearse, with_few_images
from einstellung.experiments.study import prepare_study
from einstellung.learners import Learner, learners
from einstellung.results.config import build_config, merged
from einstellung.streams import ImageSet

from .conftest import SMALL

pytestmark = pytest.mark.usefixtures("own_names")

MINE = """
from einstellung.learners import FineTuning, Learner, learners

@learners.register("{name}")
class Mine({base}):
{body}
"""
KEEPS = """
    kept = None
    def end_phase(self, phase):
        self.kept = {1: len(phase.train)}
    def state_dict(self):
        return {"kept": self.kept}
    def load_state_dict(self, state):
        self.kept = state["kept"]
"""
NOT_LOADED = """
    def begin_phase(self, phase):
        super().begin_phase(phase)
        self.started = phase.name
    def end_phase(self, phase):
        self.first = self.started
"""
LATE = """
    def observe(self, batch):
        if self.context.earlier(self.phase):
            return self.step(self.cross_entropy(batch.inputs, batch.label))
        return super().observe(batch)
    def begin_phase(self, phase):
        super().begin_phase(phase)
        self.phase = phase
"""
SHARES = """
    @classmethod
    def shares_first_phase(cls, options):
        return True
"""
DOUBLED = """
    def objective(self, batch):
        return 2 * super().objective(batch)
"""
LAZY = """
    rested = False
    def observe(self, batch):
        if self.rested:
            return self.cross_entropy(batch.inputs, batch.labels).detach()
        self.rested = True
        return super().observe(batch)
"""
REVERSED = """
    def batches(self, phase, epoch, size):
        return reversed(list(super().batches(phase, epoch, size)))
"""


def mine(folder, name, body, base="Learner"):
    path = folder / f"{name}.py"
    path.write_text(MINE.replace("{name}", name).replace("{base}", base).replace("{body}", body))
    return build_config(merged(SMALL, {"plugins": [str(path)], "methods": [name]}))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (LATE, r"learner '\w+' in T2: AttributeError: 'Batch' object has no attribute 'label' \(\w+\.py, line 9\)$"),
        # a first phase of its own is stored, and the second one begins with what was stored
        (NOT_LOADED, r"learner '\w+' in T1: AttributeError: .*'started' \(\w+\.py, line 11\)$"),
        ("    def __init__(self, net):\n        pass\n", r"learner '\w+': TypeError: .*__init__"),
        (
            "    def load_state_dict(self, state):\n        state['all']\n",
            r"learner '\w+' in T1: KeyError: 'all' \(\w+\.py, line 7\)",
        ),
    ],
)
def test_a_failure_in_any_phase_is_one_line_with_learner_phase_file_and_line(tmp_path, body, words):
    config = mine(tmp_path, f"mine_{crc32(body.encode())}", body)
    with pytest.raises(InputError, match=words) as caught:
        prepare_study(config)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "base", "refused"),
    [
        (DOUBLED, "Learner", False),
        (DOUBLED, "FineTuning", False),  # not inherited by a class that trains differently
        (DOUBLED + SHARES, "Learner", True),
        (REVERSED + SHARES, "Learner", True),
        (LAZY + SHARES, "Learner", True),
        (KEEPS + SHARES, "Learner", False),
        (KEEPS, "FineTuning", False),
    ],
)
def test_a_first_phase_that_is_declared_plain_must_be_plain(tmp_path, body, base, refused):
    config = mine(tmp_path, f"mine_{crc32((body + base).encode())}", body, base)
    if not refused:
        prepare_study(config)
        return
    with pytest.raises(InputError, match=r"in T1: shares_first_phase declares plain fine-tuning.*\(mine_\d+\.py\)"):
        prepare_study(config)


def test_every_built_in_learner_passes_and_nothing_is_written_or_drawn(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    needs_more = {"bg_aug", "cff_aug", "lle", "txt_aug", "wtm_aug"}  # composites, stylised copies or a font
    needs_more |= {"l2p", "coda_prompt"}  # a vision transformer
    methods = [
        *(name for name in learners if name not in needs_more),
        "er+gdro",
        "derpp+sd",
        "erm-then-er+lff",
        "jtt~2",
    ]
    change = {"methods": methods, "learners": {"eiil": {"ascent_steps": 10}, "dgr": {"generator_epochs": 1}}}
    config = resolve(build_config(merged(SMALL, change)))
    stream, before = build_stream(config), torch.get_rng_state()
    rehearse(config, stream)
    assert torch.equal(torch.get_rng_state(), before)
    assert not list(tmp_path.iterdir())


def test_a_few_images_are_of_as_many_kinds_as_possible():
    labels = torch.tensor([0] * 90 + [1] * 8 + [2] * 2)
    has_cue = torch.arange(100) == 50
    images = ImageSet(torch.zeros(100, 3, 2, 2, dtype=torch.uint8), labels, torch.arange(100), has_cue)
    config = resolve(build_config(SMALL))
    stream = build_stream(config)
    few = with_few_images(stream, 5)
    assert [len(phase.train) for phase in few.phases] == [5, 5]
    assert all(len(phase.train.labels.unique()) == 5 for phase in few.phases)
    assert _few(images, 4).index.tolist() == [0, 50, 90, 98]
    assert len(_few(images, 1000)) == 100


def test_a_loss_that_diverges_on_two_images_is_no_reason_to_refuse_a_study():
    """A penalty that a whole phase can bear may overflow on two images; the study's own loop watches its losses."""
    seen = []

    @learners.register("diverges")
    class Diverges(Learner):
        def objective(self, batch):
            seen.append(all(value.isfinite().all() for value in self.net.state_dict().values()))
            return super().objective(batch) * float("nan")

    config = resolve(build_config({**SMALL, "methods": ["diverges"], "learners": {}}))
    rehearse(config, build_stream(config))
    assert seen[0]
    assert seen[-1]  # T2 begins with finite weights again
