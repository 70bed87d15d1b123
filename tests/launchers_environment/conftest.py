"""A tiny study, its results by the local launcher, and a learner that dies or fails where a test asks for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.experiments.conftest import results, study

TINY = {
    "name": "tiny",
    "stream": {"name": "shapes", "size": 8, "train_per_class": 8, "test_per_class": 2},
    "backbone": {"name": "resnet18", "width": 8},
    "training": {"epochs": [1, 2], "batch_size": 8, "precision": "fp32", "kernels": "torch", "milestones": []},
    "evaluation": {"first_phase": "own"},
    "methods": ["scratch_t2", "sgd", "derpp"],
    "learners": {"derpp": {"buffer": 20, "draw": 4}},
    "seeds": [1],
}

# In the last phase it notes every epoch that it begins; it dies at the start of the second one, or fails, as its options say.
FRAIL = """
import os, signal
from dataclasses import dataclass
from einstellung.learners import learners
from einstellung.learners.sgd import FineTuning

@dataclass(frozen=True)
class Options:
    log: str = ""
    dies: int = 0
    fails: bool = False

@learners.register("frail")
class Frail(FineTuning):
    Options = Options

    def begin_epoch(self, phase, epoch):
        super().begin_epoch(phase, epoch)
        if phase.name != "T2" or len(phase.train) <= 8:  # the few images of the rehearsal
            return
        with open(self.options.log, "a") as log:
            log.write(f"{epoch}\\n")
        if self.options.fails:
            raise RuntimeError("as asked")
        if epoch == 2 and open(self.options.log).read().split().count("2") <= self.options.dies:
            os.kill(os.getpid(), signal.SIGKILL)
"""


def frail(folder: Path, **options: object) -> dict[str, object]:
    """A study with that learner, which notes its epochs in ``epochs`` of this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    plugin = folder / "frail.py"
    plugin.write_text(FRAIL)
    own = {"log": str(folder / "epochs"), **options}
    return {"plugins": [str(plugin)], "methods": ["scratch_t2", "frail"], "learners": {"frail": own}}


def without_keys(found: dict[str, bytes]) -> dict[str, bytes]:
    """The same results, first phases without the key in their folder's name: it depends on the learner's options."""
    return {re.sub(r"(first_phases/[^/]+-seed\d+)-\w+/", r"\1/", name): content for name, content in found.items()}


def epochs(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "epochs").read_text().split()]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("tiny") / "tiny.yaml"
    path.write_text(yaml.safe_dump(TINY))
    return path


@pytest.fixture(scope="session")
def by_local(tiny, tmp_path_factory) -> dict[str, bytes]:
    """Every byte that must not depend on where jobs ran."""
    folder = tmp_path_factory.mktemp("local") / "out"
    assert not study(tiny, folder, workers=2).failures
    found = results(folder)
    assert len(found) == 18  # five files a run, two first phases and the merged timeline
    return found
