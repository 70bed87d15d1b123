"""Our learners against Mammoth's own models, on the same batches and draws.

Mammoth is no package: name its folder in EINSTELLUNG_MAMMOTH and, where it needs an environment of its own (see
docs/mammoth.md), that environment's interpreter in EINSTELLUNG_MAMMOTH_PYTHON. All comparisons run in one process there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = os.environ.get("EINSTELLUNG_MAMMOTH")
PYTHON = os.environ.get("EINSTELLUNG_MAMMOTH_PYTHON", sys.executable)
ROOT = Path(__file__).parents[3]
SAME = 1e-5
# what a comparison reports beside distances, and the least of it that makes the comparison mean something
LEAST = {
    "lwf": {"moved": 0.01},
    "lwf_with_warm_up": {"moved": 0.01},
    "si": {"moved": 0.01, "penalty": 0.01},
    "agem": {"projected": 1, "kept": 1},
    "er_ace": {"moved": 0.01},
    "xder": {"moved": 0.01, "updated": 1, "kept": 1},
    "xder_with_the_past_constraint": {"moved": 0.01, "updated": 1, "kept": 1},
    "lws": {"moved": 0.01, "replaced": 1, "weighed": 0.1},
    "l2p": {"moved": 0.01},
    "coda_prompt": {"moved": 0.01},
}

pytestmark = [
    pytest.mark.skipif(
        not FOLDER, reason="EINSTELLUNG_MAMMOTH is not set: it names a checkout of Mammoth (see docs/mammoth.md)"
    ),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, float]]:
    done = subprocess.run(
        [PYTHON, "-m", "tests.learners.mammoth.inside", str(Path(FOLDER or "").absolute())],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.rpartition("FOUND ")[2])


def test_every_comparison_is_expected(found):
    assert found.keys() == LEAST.keys()


@pytest.mark.parametrize("name", LEAST)
def test_both_sides_agree_to_five_digits(found, name):
    differences = {key: value for key, value in found[name].items() if key not in LEAST[name]}
    assert differences
    assert all(value <= SAME for value in differences.values()), differences
    assert all(found[name][key] >= least for key, least in LEAST[name].items()), found[name]
