"""``make package``: build sdist and wheel into ``dist/``, check both, install the wheel into a fresh environment and use it.

Used are ``score``, ``run`` with its workers and report, and ``demo --help``; then ``score`` again by ``uvx`` and ``pipx run``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.packaging.contents import ROOT, source_files, timeline_text, wheel_files

_TRY = """
import sys
from importlib import resources
from importlib.metadata import entry_points, metadata
import einstellung
assert "torch" not in sys.modules, "import einstellung must not import torch"
package = resources.files("einstellung")
for name in sys.argv[1:]:
    assert package.joinpath(*name.split("/")[1:]).is_file(), name
for point in entry_points(group="einstellung.diagnoses"):
    point.load()
print(einstellung.__file__)
"""

_TINY = {
    "name": "tiny",
    "stream": {"name": "shapes", "size": 8, "train_per_class": 8, "test_per_class": 2},
    "cue": {"name": "patch", "size": 2},
    "backbone": {"name": "mlp", "inputs": 192, "hidden": 8},
    "training": {"epochs": [1, 2], "batch_size": 8, "threads": 1},
    "methods": ["scratch_t2", "sgd"],
    "seeds": [1, 2],
}


def run(*command: object, cwd: Path = ROOT) -> str:
    """Run a command apart from this checkout's Python path; on failure show what it said and stop."""
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=clean, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}failed: {' '.join(map(str, command))}")
    return done.stdout


def built(temporary: Path) -> Path:
    """The wheel, built from the sdist; the one built from the checkout must have the same files."""
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", dist)  # the wheel from the sdist
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", temporary / "direct")
    (wheel,), (direct,) = dist.glob("*.whl"), (temporary / "direct").glob("*.whl")
    if wheel_files(wheel) != wheel_files(direct):
        differing = set(wheel_files(wheel).items()) ^ set(wheel_files(direct).items())
        sys.exit(f"the sdist builds another wheel: {sorted({name for name, _ in differing})}")
    if missing := source_files() - wheel_files(wheel).keys():
        sys.exit(f"missing in the wheel: {sorted(missing)}")
    run(sys.executable, "-m", "twine", "check", "--strict", *dist.iterdir())
    run(Path(sys.executable).parent / "cffconvert", "--validate", "--infile", ROOT / "CITATION.cff")
    return wheel


def tried(wheel: Path, temporary: Path) -> None:
    """Install the wheel into a fresh environment and use it from an empty folder."""
    place, home = temporary / "venv", temporary / "home"
    home.mkdir()
    run(sys.executable, "-m", "venv", place)
    python, command = place / "bin/python", place / "bin/einstellung"
    install = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*install, "--constraint", ROOT / "constraints.txt", wheel)
    run(python, "-m", "pip", "check")
    data = sorted(name for name in source_files() if not name.endswith(".py"))
    where = run(python, "-I", "-c", _TRY, *data, cwd=home)
    assert Path(where.strip()).is_relative_to(place), where
    assert "adapt for the right reason" in run(command, "--help", cwd=home)
    assert "demo" in run(command, "ls", "presets", cwd=home)
    (home / "timeline.csv").write_text(timeline_text(), encoding="utf-8")
    card = json.loads(run(command, "score", "timeline.csv", "--json", "--out", "report", cwd=home))
    assert card["methods"]["sgd"]["AD"]["mean"] == -2, card["methods"]["sgd"]
    assert (home / "report/report.html").stat().st_size > 10_000
    assert "history" in run(command, "demo", "--help", cwd=home)
    (home / "tiny.yaml").write_text(json.dumps(_TINY), encoding="utf-8")  # JSON is YAML
    card = json.loads(run(command, "run", "tiny.yaml", "--workers", "2", "--json", "--out", "tiny", cwd=home))
    assert list(card["methods"]) == ["scratch_t2", "sgd"], card["methods"]
    assert len(list(home.glob("tiny/runs/*/model.safetensors"))) == 4
    assert (home / "tiny/report.html").stat().st_size > 10_000


def tried_without_installing(wheel: Path, temporary: Path) -> None:
    """``uvx`` and ``pipx run``, as docs/installation.md shows them."""
    home = temporary / "elsewhere"
    home.mkdir()
    (home / "timeline.csv").write_text(timeline_text(), encoding="utf-8")
    constraints = ROOT / "constraints.txt"
    uvx = (sys.executable, "-m", "uv", "tool", "run", "--quiet", "--constraints", constraints, "--from", wheel)
    pipx = (sys.executable, "-m", "pipx", "run", "--pip-args", f"--constraint {constraints}", "--spec", wheel)
    os.environ |= {f"PIPX_{name}": str(temporary / "pipx" / name) for name in ("HOME", "BIN_DIR", "MAN_DIR")}
    for name, tool in (("uvx", uvx), ("pipx", pipx)):
        card = json.loads(run(*tool, "einstellung", "score", "timeline.csv", "--json", "--out", f"by-{name}", cwd=home))
        assert card["methods"]["sgd"]["AD"]["mean"] == -2, (name, card["methods"]["sgd"])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        wheel = built(Path(folder))
        tried(wheel, Path(folder))
        tried_without_installing(wheel, Path(folder))
    print(f"built, checked, installed and used: {wheel.relative_to(ROOT)} and its sdist")


if __name__ == "__main__":
    main()
