"""Several processes on one folder and one cache: the result is that of one process alone.

In turn, on one folder (one runs, the others are told so in one line), and on folders of their own with one cache (all run).
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
from PIL import Image

from tests.faults.campaign import Trial
from tests.faults.commands import CommandServer, Done
from tests.faults.studies import TINY, hashes
from tests.faults.targets import PATIENCE, Target, study_target

_PROCESSES = 3
_OF_A_CLASS = 8


class Together:
    name = "together"

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch

    def trials(self, first: int) -> Iterator[Trial]:
        servers = [CommandServer({"EINSTELLUNG_DATA": ""}) for _ in range(_PROCESSES)]
        try:
            self.scratch.mkdir(parents=True, exist_ok=True)
            pictures = _pictures(self.scratch / "pictures")
            stream = {"name": "folder", "path": str(pictures), "size": 8, "shortcut": ["t2-0"], "crop_padding": 1}
            values = {**TINY, "name": "cached", "stream": {**stream, "validation": 0.25}, "seeds": [1]}
            targets = [study_target("cached", server, self.scratch, values) for server in servers]
            number = first
            while True:
                yield _trial(targets, number, self.scratch)
                number += 1
        finally:
            for server in servers:
                server.close()


def _trial(targets: list[Target], number: int, scratch: Path) -> Trial:
    draws = random.Random(f"together {number}")
    apart = number % 2 == 1
    folder, cache = scratch / f"together-{number}", scratch / f"cache-{number}"
    for path in (folder, cache):
        shutil.rmtree(path, ignore_errors=True)
    outs = [folder / (f"{index}/out" if apart else "0/out") for index in range(_PROCESSES)]
    for out in outs:
        out.parent.mkdir(parents=True, exist_ok=True)
    waits = [draws.uniform(0, 1.5) for _ in outs]

    def run(index: int) -> Done:
        time.sleep(waits[index])
        environment = {"EINSTELLUNG_DATA": "", "EINSTELLUNG_CACHE": str(cache)}
        return targets[index].server.run(targets[index].words(outs[index]), scratch, environment, patience=PATIENCE)

    first = targets[0]
    _ = first.reference
    with ThreadPoolExecutor(_PROCESSES) as pool:
        ended = list(pool.map(run, range(_PROCESSES)))
    problems = [problem for done in ended for problem in done.problems]
    codes = sorted(done.code for done in ended)
    if any(code not in ((0,) if apart else (0, 2)) for code in codes):
        problems.append(f"exit codes {codes}: {ended[-1].err.strip()[-200:]}")
    for out in dict.fromkeys(outs):
        again = run(outs.index(out))
        problems += again.problems + ([f"it cannot go on: {again.err.strip()[-300:]}"] if again.code else [])
        problems += first.differences(out)
    if not hashes(cache):
        problems.append("the cache was not used")
    if not problems:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(cache, ignore_errors=True)
    counted: dict[str, float] = {
        "processes": _PROCESSES,
        "refused": sum(code == 2 for code in codes),
        "on one cache": _PROCESSES,
    }
    return Trial(f"{_PROCESSES} processes{' apart' if apart else ''}", counted, tuple(problems))


def _pictures(folder: Path) -> Path:
    """Pictures of two phases, which the stream decodes into the cache."""
    noise, rows = np.random.default_rng(0), ["file,label,phase,split"]
    folder.mkdir(parents=True, exist_ok=True)
    for phase, split, label, number in product(("T1", "T2"), ("train", "test"), range(2), range(_OF_A_CLASS)):
        name = f"{phase}-{split}-{label}-{number}.png"
        Image.fromarray(noise.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(folder / name)
        rows.append(f"{name},{phase.lower()}-{label},{phase},{split}")
    (folder / "labels.csv").write_text("\n".join(rows) + "\n")
    return folder
