"""``import einstellung``: few names, imported when they are used, with types that a checker sees."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import einstellung

NAMES = ["Recorder", "__version__", "audit", "compare", "gate", "load", "phases", "run", "score", "two_phase"]


def run_python(code: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_few_names():
    assert dir(einstellung) == sorted(NAMES)
    assert sorted(einstellung.__all__) == sorted(NAMES)


def test_import_is_lazy(tmp_path):
    heavy = "('torch', 'pandas', 'matplotlib', 'numpy', 'pydantic')"
    code = f"import sys, einstellung; dir(einstellung); print([name for name in {heavy} if name in sys.modules])"
    assert run_python(code, tmp_path).strip() == "[]"


def test_scoring_needs_no_torch(tmp_path, log):
    log.to_csv(tmp_path / "timeline.csv", index=False)
    code = "import sys, einstellung as e; r = e.score('timeline.csv'); r._repr_html_(); print('torch' in sys.modules)"
    assert run_python(code, tmp_path).strip() == "False"


def test_every_name_is_there():
    for name in set(NAMES) - {"__version__", "gate"}:
        assert callable(getattr(einstellung, name)), name


@pytest.mark.skipif(find_spec("einstellung.gating") is None, reason="einstellung.gating is not part of this version")
def test_gate():
    from einstellung.gating import gate

    assert einstellung.gate is gate


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        _ = einstellung.scores


def test_no_room_hides_a_name():
    """A module ``einstellung.score`` would replace the function as soon as somebody imports it."""
    root = Path(einstellung.__file__).parent
    assert not [name for name in NAMES if (root / name).exists() or (root / f"{name}.py").exists()]


def test_module_runs_as_the_command(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "einstellung", "--version"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.stdout.strip() == f"einstellung, version {einstellung.__version__}"


USER = """
import einstellung as e
from pathlib import Path

result = e.score("my_logs", methods=["sgd"], tau=0.5)
reveal_type(result.answer)
reveal_type(result.plot("accuracy"))
reveal_type(result.save("report.html"))
reveal_type(result.verdicts["sgd"].certainty)
reveal_type(e.two_phase(1, 2, t1=[0], t2=["a", 2], shortcut=[2]).covered)
reveal_type(e.compare("a", "b").facets)
reveal_type(e.Recorder("sgd", 1).seed)
e.score(3)
e.score("my_logs", method="sgd", seeds="1")
"""


def test_types_are_seen(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "user.py").write_text(USER)
    root = str(Path(einstellung.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache"), "user.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"MYPYPATH": root, "PATH": ""},
        check=False,
    )
    lines = done.stdout.splitlines()
    revealed = [line.partition('Revealed type is "')[2].rstrip('"') for line in lines if "Revealed type" in line]
    assert [kind.replace("builtins.", "") for kind in revealed] == [
        "str",
        "matplotlib.figure.Figure",
        "pathlib.Path",
        "str",
        "einstellung.api.batches.SplitImages",
        "tuple[str, ...]",
        "int",
    ], done.stdout
    errors = [line for line in lines if ": error:" in line]
    assert [line.split(":")[1] for line in errors] == ["13", "14"], done.stdout
    assert (Path(einstellung.__file__).parent / "py.typed").exists()
