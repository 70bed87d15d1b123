"""The lock files in ``locks/``: the version of every package, direct or not, that make installs into each environment.

``python -m tests.packaging.lock [NAME ...]`` asks pip what it would install now, and writes it; nothing is installed. Then run
the tests of that environment, and commit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "locks"
ENVIRONMENTS: dict[str, tuple[str, ...]] = {
    "user": ("--editable", ".[fast]"),
    "dev": ("--editable", ".[dev]"),
    "browser": ("--requirement", "tests/browser/requirements.txt"),
    "bridges": ("--editable", ".", "--requirement", "tests/bridges_environment/requirements.txt"),
    "launchers": ("--editable", ".", "--requirement", "tests/launchers_environment/requirements.txt"),
    "faults": ("--only-binary", ":all:", "--requirement", "tests/faults/requirements.txt"),
    "package": ("--requirement", "tests/packaging/requirements.txt"),
    "docs": ("--editable", ".", "--requirement", "docs/requirements.txt"),
}


def locked(name: str) -> dict[str, str]:
    """The versions that pip chooses, by the name of the package."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"),
                *("--disable-pip-version-check", "--constraint", "constraints.txt", "--report", str(report)),
                *ENVIRONMENTS[name],
            ],
            cwd=ROOT,
            check=True,
        )
        chosen = [one["metadata"] for one in json.loads(report.read_text())["install"]]
    # a local version, such as torch's +cpu, is a matter of where a package comes from
    return {one["name"].lower().replace("_", "-"): one["version"].partition("+")[0] for one in chosen}


def main() -> None:
    LOCKS.mkdir(exist_ok=True)
    for name in sys.argv[1:] or ENVIRONMENTS:
        versions = locked(name)
        versions.pop("einstellung", None)
        lines = [
            f"# Made by 'python -m tests.packaging.lock {name}': every package of that environment, for pip's --constraint."
        ]
        lines += [f"{package}=={version}" for package, version in sorted(versions.items())]
        (LOCKS / f"{name}.txt").write_text("\n".join(lines) + "\n")
        print(f"locks/{name}.txt: {len(versions)} packages", flush=True)


if __name__ == "__main__":
    main()
