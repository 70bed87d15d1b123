"""Damaged files: each kind of file of a finished or half-finished study is flipped, cut, emptied, swapped or lost; at times two.

Then the same command is run. It must say so or make the file again: a result that differs without a word is the failure. One of
the studies has weights of several megabytes, which are hashed in pieces.
"""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from einstellung.files import is_leftover
from einstellung.results.folder import CHECKPOINT
from tests.faults.campaign import Trial
from tests.faults.commands import CommandServer
from tests.faults.studies import TINY
from tests.faults.targets import Target, study_target

WAYS = ("flipped", "cut", "emptied", "swapped", "lost")
_LARGE = {
    **TINY,
    "name": "large",
    "backbone": {"name": "mlp", "inputs": 192, "hidden": 8192},  # 6 MB
    "methods": ["scratch_t2", "sgd"],
    "seeds": [1],
}
_STATES = ("finished", "finished", "half-finished", "half-finished", "large")
_TWO = 0.3  # share of trials with two damaged files


class Damage:
    name = "damage"

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch

    def trials(self, first: int) -> Iterator[Trial]:
        with CommandServer({"EINSTELLUNG_DATA": ""}) as server:
            small = study_target("study", server, self.scratch, {**TINY, "seeds": [1]})
            large = study_target("large", server, self.scratch, _LARGE)
            begun = _HalfFinished(small)
            number = first
            while True:
                state = _STATES[number % len(_STATES)]
                if state == "half-finished":
                    yield _trial(small, number, state, begun.folder)
                else:
                    target = large if state == "large" else small
                    yield _trial(target, number, state, target.whole)
                number += 1


class _HalfFinished:
    """A study that was killed between two epochs: a finished first phase, a checkpoint, a timeline that is being written."""

    def __init__(self, target: Target) -> None:
        self.target = target

    @cached_property
    def folder(self) -> Path:
        out = self.target.scratch / "half-finished" / "out"
        writes, _ = self.target.effort
        for at in range(writes // 10, writes, 7):
            shutil.rmtree(out.parent, ignore_errors=True)
            done = self.target.run(out, self.target.fault(out, "kill-self", at))
            names = {path.name for path in out.rglob("*")}
            parts = {CHECKPOINT, "live.csv", "state.safetensors", "model.safetensors"}
            if done.code == -signal.SIGKILL and parts <= names:
                return out
        raise RuntimeError("the study has no moment with a checkpoint and a finished run")


def _trial(target: Target, number: int, state: str, source: Path) -> Trial:
    draws = random.Random(f"damage {number}")
    out = target.scratch / target.name / f"damaged-{number}" / "out"
    shutil.rmtree(out.parent, ignore_errors=True)
    shutil.copytree(source, out)
    kinds: dict[str, list[str]] = {}
    for path in sorted(out.rglob("*")):
        if path.is_file() and path.stat().st_size and not is_leftover(path.name) and path.name != ".lock":
            name = path.relative_to(out).as_posix()
            kinds.setdefault(name.split("/")[0] + "/" + path.name if "/" in name else name, []).append(name)
    damaged, counted = list[tuple[str, str]](), dict[str, float]()
    for kind in draws.sample(sorted(kinds), 2 if draws.random() < _TWO else 1):
        name, way = draws.choice(kinds[kind]), WAYS[(number // len(_STATES) + len(damaged)) % len(WAYS)]
        _damage(out, name, way, kinds[kind], draws)
        damaged.append((name, way))
        counted[f"files {way}"] = counted.get(f"files {way}", 0) + 1
    counted[f"{state} studies"] = 1
    problems: list[str] = []
    reported = target.report(out)
    problems += [f"report: {one}" for one in reported.problems]
    done = target.run(out)
    problems += [f"run: {one}" for one in done.problems]
    said = reported.err + reported.out + done.err + done.out
    told = all(Path(name).name in said for name, _ in damaged)
    wrong = target.differences(out)
    if done.code == 0 and not wrong:
        counted["made again"] = 1
    elif done.code and told:
        counted["refused by name"] = 1
    elif done.code:
        problems.append(f"it does not say which file is damaged: {done.err.strip()[-200:]}")
    else:
        problems.append(f"goes on {'' if told else 'without a word '}with other results: {'; '.join(wrong)}")
    if not problems:
        shutil.rmtree(out.parent, ignore_errors=True)
    return Trial(f"{state}: {', '.join(f'{name} {way}' for name, way in damaged)}", counted, tuple(problems))


def _damage(out: Path, name: str, way: str, alike: list[str], draws: random.Random) -> None:
    path = out / name
    content = bytearray(path.read_bytes())
    if way == "flipped":
        content[draws.randrange(len(content))] ^= 1 << draws.randrange(8)
    elif way == "cut":
        del content[draws.randrange(len(content)) :]
    elif way == "emptied":
        content.clear()
    elif way == "swapped":
        others = [one for one in alike if one != name and (out / one).read_bytes() != content]
        other = draws.choice(others) if others else None
        content = bytearray((out / other).read_bytes() if other else bytes(reversed(content)))
    if way == "lost":
        path.unlink()
    else:
        path.write_bytes(content)
