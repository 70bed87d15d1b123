"""``python -m benchmarks.launchers.kills``: kill processes of studies under Ray at random, and compare every byte in the end.

A study is run once by the local launcher. Then, in rounds, the same study runs under Ray while workers, the actor with the
progress and the command itself are killed (SIGKILL) at random moments; a killed command is typed again. When the round has ended,
all results are compared with those of the local launcher. Rounds have their results written by the workers or sent back, in turn.
Counts are added up in a file, so that a campaign can be made in parts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from einstellung.files import write_json, write_text
from einstellung.results.config import build_config, to_yaml

STUDY = {
    "name": "kills",
    "stream": {"name": "shapes", "size": 12, "train_per_class": 8, "test_per_class": 2},
    "backbone": {"name": "resnet18", "width": 8},
    "training": {"epochs": [1, 3], "batch_size": 8, "precision": "fp32", "kernels": "torch", "milestones": []},
    "evaluation": {"first_phase": "own"},
    "methods": ["scratch_t2", "sgd", "derpp"],
    "learners": {"derpp": {"buffer": 20, "draw": 4}},
    "seeds": [1, 2],
}
COMPARED = ("*.safetensors", "timeline.csv", "predictions*.csv")
_NOT_A_JOB = ("ray::IDLE", "ray::RuntimeEnv", "ray::Dashboard", "ray::Mailbox", "ray::SPILL", "ray::RESTORE")
_IN_A_ROUND = 30  # kills; then the study may end
_OF_DRIVER, _OF_MAILBOX = 0.04, 0.06  # shares of the kills


def main(words: Sequence[str]) -> int:
    options = _parser().parse_args(words)
    counts = json.loads(options.record.read_text()) if options.record.exists() else {}
    draws = random.Random(options.seed + counts.get("rounds", 0))
    begun = sum(counts.get("kills", {}).values())
    with tempfile.TemporaryDirectory() as place:
        config = Path(place) / "kills.yaml"
        write_text(config, to_yaml(build_config(STUDY)))
        reference = Path(place) / "local"
        if start_command(config, reference, []).wait() != 0:
            raise RuntimeError("the study fails without any kill")
        print(f"by the local launcher: {len(result_bytes(reference))} files", flush=True)
        until = time.monotonic() + 60 * options.minutes
        while time.monotonic() < until and sum(counts.get("kills", {}).values()) - begun < options.kills:
            sent = counts.get("rounds", 0) % 2 == 1
            most = min(_IN_A_ROUND, options.kills - (sum(counts.get("kills", {}).values()) - begun))
            folder = Path(place) / f"round-{counts.get('rounds', 0)}"
            found = one_round(config, folder, sent, draws, most, until, options.pause)
            others = differing(reference, folder)
            counts = {
                "rounds": counts.get("rounds", 0) + 1,
                "kills": {k: counts.get("kills", {}).get(k, 0) + found["kills"][k] for k in found["kills"]},
                "files_compared": counts.get("files_compared", 0) + len(result_bytes(reference)),
                "differing": counts.get("differing", []) + others,
                "could_not_go_on": counts.get("could_not_go_on", 0) + found["failed"],
                "seconds": round(counts.get("seconds", 0) + found["seconds"]),
            }
            write_json(options.record, counts)
            print(json.dumps(counts), flush=True)
    return 1 if counts["differing"] or counts["could_not_go_on"] else 0


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m benchmarks.launchers.kills", description=__doc__)
    made.add_argument("--kills", type=int, default=100, help="how many kills (default: 100)")
    made.add_argument("--minutes", type=float, default=20.0, help="no kills after this time; the last study still ends")
    made.add_argument("--pause", type=float, default=8.0, help="seconds between two kills, on average (default: 8)")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--record", type=Path, default=Path("kills.json"), help="where counts are added up")
    return made


def one_round(
    config: Path, folder: Path, sent: bool, draws: random.Random, most: int, until: float, pause: float
) -> dict[str, Any]:
    """One study to its end, under kills."""
    words = ["--launcher", "ray", "--set", "launcher.retries=1000"]
    if sent:
        words += ["--ray-results", "driver", "--set", "launcher.data=send"]
    kills = {"worker": 0, "progress actor": 0, "command": 0}
    begin, failed, process = time.monotonic(), 0, start_command(config, folder, words)
    due = time.monotonic() + draws.expovariate(1 / pause)
    while True:
        if (code := process.poll()) is not None:
            failed = int(code != 0)
            break
        if time.monotonic() >= due and time.monotonic() < until and sum(kills.values()) < most:
            kind = draws.choices(list(kills), [1 - _OF_DRIVER - _OF_MAILBOX, _OF_MAILBOX, _OF_DRIVER])[0]
            titles = dict(_descendants(process.pid))
            jobs = [pid for pid, title in titles.items() if _is_job(title)]
            if kind == "command" and jobs:  # while it has something to do
                process.kill()
                process.wait()
                kills[kind] += 1
                process = start_command(config, folder, words)
            elif kind != "command":
                mailboxes = [pid for pid, title in titles.items() if title.startswith("ray::Mailbox")]
                if victims := jobs if kind == "worker" else mailboxes:
                    with suppress(ProcessLookupError):
                        os.kill(draws.choice(victims), signal.SIGKILL)
                        kills[kind] += 1
            due = time.monotonic() + draws.expovariate(1 / pause)
        time.sleep(0.05)
    return {"kills": kills, "failed": failed, "seconds": time.monotonic() - begin}


def start_command(config: Path, folder: Path, words: Sequence[str]) -> subprocess.Popen[bytes]:
    typed = [sys.executable, "-m", "einstellung", "run", str(config), "--out", str(folder), *words]
    log = folder.with_suffix(".log").open("ab")
    return subprocess.Popen(typed, stdout=log, stderr=log)


def _is_job(title: str) -> bool:
    """Whether a process with this title runs a job: Ray names it after its task.

    >>> _is_job("ray::sgd seed 1 T1"), _is_job("ray::IDLE"), _is_job("/usr/bin/raylet")
    (True, False, False)
    """
    return title.startswith("ray::") and not title.startswith(_NOT_A_JOB)


def _descendants(pid: int) -> Iterator[tuple[int, str]]:
    """All processes below this one, with their titles."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(entry.name))
    pending = [pid]
    while pending:
        for child in parents.get(pending.pop(), []):
            pending.append(child)
            with suppress(OSError):
                yield child, (Path("/proc") / str(child) / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()


def result_bytes(folder: Path) -> dict[str, bytes]:
    files = {path for pattern in COMPARED for path in folder.rglob(pattern)}
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in files
        if path.name != "checkpoint.safetensors"
    }


def differing(reference: Path, folder: Path) -> list[str]:
    ours, theirs = result_bytes(reference), result_bytes(folder)
    return [f"{folder.name}/{name}" for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
