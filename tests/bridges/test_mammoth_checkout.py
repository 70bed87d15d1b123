"""The Mammoth bridge in the real Mammoth.

Mammoth is no package: name its folder in EINSTELLUNG_MAMMOTH and, where it needs an environment of its own (see
docs/mammoth.md), that environment's interpreter in EINSTELLUNG_MAMMOTH_PYTHON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from einstellung.bridges.mammoth.contract import RELIED_ON
from einstellung.diagnoses.rigidity.score import score
from einstellung.timeline import Timeline

FOLDER = os.environ.get("EINSTELLUNG_MAMMOTH")
PYTHON = os.environ.get("EINSTELLUNG_MAMMOTH_PYTHON", sys.executable)

pytestmark = [
    pytest.mark.skipif(
        not FOLDER, reason="EINSTELLUNG_MAMMOTH is not set: it names a checkout of Mammoth (see docs/mammoth.md)"
    ),
    pytest.mark.timeout(900),
]

SMALL = (
    *("--dataset", "seq-shapes-einstellung", "--lr", "0.03", "--num_filters", "8", "--batch_size", "16"),
    *("--einstellung_train_per_class", "5", "--einstellung_test_per_class", "1", "--num_workers", "0"),
    *("--non_verbose", "1"),
)
DERPP = ("--model", "derpp", "--buffer_size", "40", "--alpha", "0.1", "--beta", "0.5")

# One process that looks at everything a run of its own would take: Mammoth's signatures, the same training with and without
# the evaluator, and what comes back from its buffer.
INSIDE = """
import hashlib, json, sys
folder, words = sys.argv[1], json.loads(sys.argv[2])
from einstellung.bridges.mammoth import enable_einstellung_integration, open_checkout, register_datasets
from einstellung.bridges.mammoth.contract import RELIED_ON, signature_of
open_checkout(folder)
register_datasets()
import main, torch
found = {"signatures": {name: signature_of(name) for name in RELIED_ON}, "weights": []}
from utils.training import train
for measured in (False, True):
    sys.argv = ["main.py", *words, "--seed", "1", "--n_epochs", "1"]
    args = main.parse_args()
    if measured:
        evaluator = enable_einstellung_integration(args, results=None)
    model, dataset, args = main.initialize(args)
    train(model, dataset, args)
    state = b"".join(value.numpy().tobytes() for value in model.net.state_dict().values())
    found["weights"].append(hashlib.sha256(state + torch.rand(1).numpy().tobytes()).hexdigest())
found["moments"] = sorted({tuple(row) for row in evaluator.timeline().frame[["phase", "epoch"]].values.tolist()})
raw = model.buffer.examples[: len(model.buffer)]
_, images = dataset.presented.training_images.known((raw.cpu() * 255).round().to(torch.uint8))
colour = torch.tensor([2.0, -2.0, 2.0]).view(1, 3, 1, 1)
region = dataset.stream.cue.region(images.index, *raw.shape[-2:])[:, 0]
def with_cue(shown):
    return (torch.isclose(shown, colour).all(dim=1) | ~region).flatten(1).all(dim=1).tolist()
found["has_cue"] = images.has_cue.tolist()
found["replayed"] = with_cue(model.buffer.get_all_data(transform=model.transform)[0])
found["normalised"] = with_cue(model.normalization_transform(raw))
found["raw"] = with_cue(dataset.presented.normalised(raw))
print("FOUND " + json.dumps(found))
"""


def in_mammoths_python(*words: object, expect: int = 0) -> str:
    done = subprocess.run(
        [PYTHON, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=280,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"},
    )
    assert done.returncode == expect, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    words = [*DERPP, *SMALL, "--base_path", str(tmp_path_factory.mktemp("mammoth"))]
    printed = in_mammoths_python("-c", INSIDE, FOLDER, json.dumps(words))
    return json.loads(next(line for line in printed.splitlines() if line.startswith("FOUND "))[6:])


def test_its_signatures_are_those_the_bridge_relies_on(found):
    assert found["signatures"] == RELIED_ON


def test_measuring_changes_neither_its_weights_nor_its_random_numbers(found):
    assert found["weights"][0] == found["weights"][1]
    assert found["moments"] == [["T1", 0.0], ["T1", 1.0], ["T2", 0.0], ["T2", 1.0]]


def test_its_buffer_holds_raw_images_and_replays_them_with_their_cue(found):
    assert found["replayed"] == found["normalised"] == found["has_cue"]
    assert any(found["has_cue"])
    assert not all(found["has_cue"])
    assert not any(found["raw"])


def test_a_method_and_its_baseline_end_in_timelines_that_can_be_scored(tmp_path: Path):
    launch = ("-m", "einstellung.bridges.mammoth", "--mammoth", FOLDER, "--results", tmp_path / "results", "--seed", 7)
    own = (*SMALL, "--n_epochs", "2", "--base_path", tmp_path / "its")
    in_mammoths_python(*launch, "--", "--model", "sgd", *own)
    in_mammoths_python(*launch, "--", "--model", "sgd", "--start_from", "1", *own)
    files = [tmp_path / "results" / f"{name}-seed7" / "timeline.csv" for name in ("sgd", "scratch_t2")]
    sequential, baseline = map(Timeline.read, files)
    assert sequential.frame.groupby(["phase", "epoch"]).ngroups == 6
    assert set(baseline.frame["phase"]) == {"T2"}
    assert baseline.frame.groupby("epoch").ngroups == 3
    card = score(Timeline.read_many(files))
    assert set(card.methods) >= {"sgd"}
    refused = in_mammoths_python(*launch, "--", "--model", "sgd", *own, expect=2)
    assert f"{files[0]} already exists" in refused
