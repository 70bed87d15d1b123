"""``run``: a study from a dict, in a script without a guard, resumed, and refused before anything is written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import einstellung as e
from einstellung.api.results import Result
from einstellung.errors import InputError

TINY = {
    "stream": {"name": "shapes", "size": 8, "train_per_class": 4, "test_per_class": 2, "t1": [0], "t2": [8, 10], "shortcut": [8],
               "validation": 0.5},
    "cue": {"size": 2},
    "backbone": {"name": "resnet18", "width": 2},
    "training": {"epochs": 1, "kernels": "torch", "milestones": []},
}  # fmt: skip

SCRIPT = f"""
import einstellung as e
print("started")
result = e.run({TINY!r}, out="out", workers=1, methods=["scratch_t2"], seeds=[1], on_progress=lambda share, what: None)
print(repr(result))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Where a script without ``if __name__ == "__main__"`` ran a study."""
    folder = tmp_path_factory.mktemp("script")
    (folder / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], capture_output=True, text=True, cwd=folder, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "started"
    assert done.stdout.count("started") == 1
    return folder / "out"


def test_a_script_without_a_guard(folder):
    assert (folder / "report.html").exists()
    assert e.load(folder).table()["method"].tolist() == ["scratch_t2"]


def test_resume_adds_methods(folder):
    seen = []

    def note(share: float, what: str) -> None:
        seen.append((share, what))

    result = e.run(TINY, out=folder, workers=1, methods=["scratch_t2", "sgd"], seeds=[1], on_progress=note)
    assert isinstance(result, Result)
    assert list(result.card.methods) == ["scratch_t2", "sgd"]
    assert not [what for _, what in seen if what.startswith("scratch_t2")]
    assert seen[0] == (0.0, "sgd seed 1 T1: starting")
    assert seen[-1] == (1.0, "sgd seed 1: done")
    assert [share for share, _ in seen] == sorted(share for share, _ in seen)
    assert result.to_json() == e.load(folder).to_json()


def test_other_settings_are_refused(folder):
    with pytest.raises(InputError, match=r"has a study with cue\.size = 2, not 3"):
        e.run(TINY, out=folder, methods=["scratch_t2"], seeds=[1], cue={"size": 3})


@pytest.mark.parametrize(
    ("config", "overrides", "message"),
    [
        ("dmeo", {}, "unknown preset 'dmeo': did you mean 'demo'"),
        ("no.yaml", {}, "no such configuration"),
        (3, {}, "a int is no configuration"),
        ({"sedes": [1]}, {}, "unknown key 'sedes': did you mean 'seeds'"),
        (TINY, {"methods": ["derp"]}, "did you mean 'derpp'"),
        (TINY, {"workers": 0}, "workers is 0"),
        (TINY, {"stream": "shpaes"}, "unknown stream 'shpaes': did you mean 'shapes'"),
    ],
)
def test_wrong_input_writes_nothing(config, overrides, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        e.run(config, **overrides)
    assert not list(tmp_path.iterdir())


def test_data_from_python_are_kept_with_the_results(pictures, tmp_path):
    data = e.two_phase(pictures["train"], pictures["test"], t1=[0, 1], t2=[2, 3], shortcut=[2], cue={"size": 3})
    settings = {"backbone": TINY["backbone"], "training": TINY["training"], "on_progress": lambda share, what: None}
    out = tmp_path / "out"
    result = data.run(["scratch_t2"], [1], out=out, workers=1, **settings)
    assert result.config.stream.name == "arrays"
    before = (out / "runs/scratch_t2-seed1/status.json").read_bytes()
    config = {"methods": ["scratch_t2"], "seeds": [1], "backbone": TINY["backbone"], "training": TINY["training"]}
    again = e.run(config, out=out, workers=1, stream=data)
    assert (out / "runs/scratch_t2-seed1/status.json").read_bytes() == before
    assert again.to_json() == result.to_json()
    other = e.two_phase(pictures["train"], pictures["test"], t1=[0, 1], t2=[2, 3], shortcut=[3], cue={"size": 3})
    with pytest.raises(InputError, match=r"has a study with stream\.shortcut"):
        other.run(["scratch_t2"], [1], out=out, workers=1, **settings)
    images, labels = pictures["train"]
    changed = e.two_phase((images // 2, labels), pictures["test"], t1=[0, 1], t2=[2, 3], shortcut=[2], cue={"size": 3})
    with pytest.raises(InputError, match="holds a study of other data"):
        changed.run(["scratch_t2"], [1], out=out, workers=1, **settings)
    with pytest.raises(InputError, match=r"cue belongs to the data"):
        data.run(["scratch_t2"], [1], out=out, cue={"size": 4})


def test_a_refused_study_leaves_no_data(pictures, tmp_path):
    data = e.two_phase(pictures["train"], pictures["test"], t1=[0, 1], t2=[2, 3], shortcut=[2])
    with pytest.raises(InputError, match="did you mean 'derpp'"):
        data.run(["derp"], [1], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
