"""Fuzzing of every reader: whatever the bytes, it returns or raises an InputError, in bounded time and memory.

``python -m tests.faults.fuzzing READER RESULT --seconds 10 --seed 1`` is one stretch, in a process of its own: guided by coverage
with atheris where it is installed, else with mutations that hypothesis draws.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from tests.faults.campaign import Trial
from tests.faults.commands import MOST_BYTES, MOST_SECONDS, ROOT

_STRETCH = 10.0  # seconds
_HANGS_AFTER = 60
_ADDRESSES = 12 * 2**30  # torch alone maps several
_TOKENS = (
    b"nan", b"inf", b"-1", b"0", b"1e400", b"9" * 30, b"9" * 5000, b"null", b"true", b"&a ", b"*a", b"<<: ", b"!!bool ",
    b"!!set ",
    b"[", b"]", b"{", b"}", b"[" * 60, b": ", b"\n", b"  ", b",", b'"', b"'", b"\0", b"\xff", b"\x1b[31m", b"\xe2\x80\xae",
    b"../",
    b"group_0_" + b"0" * 20,
    b"\x00\x00\x00\x80", b"\xff\xff\xff\xff\xff\xff\xff\x7f", b"PK\x03\x04", b"2020-13-45", b"=cmd|",
)  # fmt: skip


class Hang(BaseException):
    """A reader took a minute."""


class Fuzzing:
    name = "fuzzing"

    def __init__(self, scratch: Path, stretch: float = _STRETCH) -> None:
        self.scratch, self.stretch = scratch, stretch

    def trials(self, first: int) -> Iterator[Trial]:
        from tests.faults.readers import READERS

        names, number = list(READERS), first
        while True:
            yield self._trial(number, names[number % len(names)])
            number += 1

    def _trial(self, number: int, name: str) -> Trial:
        self.scratch.mkdir(parents=True, exist_ok=True)
        result = self.scratch / f"fuzz-{number}.json"
        words = [name, str(result), "--seconds", str(self.stretch), "--seed", str(number)]
        process = subprocess.run(
            [sys.executable, "-m", "tests.faults.fuzzing", *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=self.stretch * 6 + 600,
            check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        if not result.exists():
            return Trial(name, {}, (f"the fuzzer ended with {process.returncode}: {process.stderr.strip()[-300:]}",))
        found = json.loads(result.read_text())
        problems = list(found["findings"].values())
        if found["peak"] > MOST_BYTES * 1.5:  # of the whole process, with torch and the engine in it
            problems.append(f"{found['peak'] / 2**30:.1f} GB")
        if process.returncode not in (0, 77) and not problems:
            problems.append(f"the process ended with {process.returncode}: {process.stderr.strip()[-300:]}")
        counted = {
            "inputs": found["executions"],
            "seconds": found["seconds"],
            f"inputs by {found['engine']}": found["executions"],
        }
        if not problems:
            result.unlink()
        return Trial(name, counted, tuple(problems))


class Harness:
    """Runs one reader on inputs, and keeps one finding for every place where something else than an InputError arose."""

    def __init__(self, name: str, result: Path, engine: str) -> None:
        from tests.faults.readers import READERS

        self.reader, self.result, self.engine = READERS[name], result, engine
        self.folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        self.findings: dict[str, str] = {}
        self.executions, self.begun, self.written = 0, time.monotonic(), 0.0
        self.seeds = self.reader.seeds()
        for seed in self.seeds:
            self.one(seed)
        self.begun = time.monotonic()

    def one(self, content: bytes) -> None:
        from einstellung.errors import MOST_CHARACTERS, InputError

        self.executions += 1
        before = time.process_time()
        signal.setitimer(signal.ITIMER_REAL, _HANGS_AFTER)
        try:
            self.reader.read(content, self.folder)
        except InputError as error:
            for problem in error.problems:
                if "\n" in problem or len(problem) > MOST_CHARACTERS:
                    self._found("an error of more than one short line", problem[:400], content)
        except Hang:
            self._found("hang", f"took {_HANGS_AFTER} s", content)
        except BaseException as error:  # noqa: BLE001 (this is what is looked for)
            own = [frame for frame in traceback.extract_tb(error.__traceback__) if "einstellung" in frame.filename]
            place = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "?"
            self._found(
                f"{type(error).__name__} {place}", f"{type(error).__name__} in {place}: {str(error)[:200]}", content
            )
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if (seconds := time.process_time() - before) > MOST_SECONDS:
            self._found("slow", f"{seconds:.0f} s of computing", content)
        if time.monotonic() - self.written > 1:
            self.write()

    def _found(self, key: str, what: str, content: bytes) -> None:
        if key not in self.findings:
            self.findings[key] = f"{what} (input {base64.b64encode(content[:2000]).decode()})"
            self.write()

    def write(self) -> None:
        self.written = time.monotonic()
        facts = {
            "executions": self.executions,
            "seconds": round(self.written - self.begun, 1),
            "engine": self.engine,
            "findings": self.findings,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
        temporary = self.result.with_suffix(".part")
        temporary.write_text(json.dumps(facts))
        temporary.replace(self.result)


def _by_hypothesis(harness: Harness, seconds: float, seed: int) -> None:
    import hypothesis
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st

    place = st.integers(0, 2**16)
    operations = st.one_of(
        st.tuples(st.just("flip"), place, st.integers(0, 7)),
        st.tuples(st.just("delete"), place, st.integers(1, 64)),
        st.tuples(st.just("double"), place, st.integers(1, 64)),
        st.tuples(st.just("cut"), place, st.just(0)),
        st.tuples(st.just("token"), place, st.integers(0, len(_TOKENS) - 1)),
        st.tuples(st.just("replace"), place, st.integers(0, len(_TOKENS) - 1)),
        st.tuples(st.just("insert"), place, st.binary(min_size=1, max_size=8)),
    )
    inputs = st.one_of(
        st.tuples(st.sampled_from(harness.seeds), st.lists(operations, min_size=1, max_size=6)),
        st.tuples(st.binary(max_size=200), st.lists(operations, max_size=2)),
    )
    ends, number = time.monotonic() + seconds, seed * 1000
    while time.monotonic() < ends:

        @hypothesis.seed(number)
        @settings(
            max_examples=100,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(inputs)
        def run(made: tuple[bytes, list[tuple[str, int, Any]]]) -> None:
            if time.monotonic() < ends:
                harness.one(mutated(*made))

        run()
        number += 1


def mutated(content: bytes, operations: list[tuple[str, int, Any]]) -> bytes:
    """The content after some changes; places count modulo its length."""
    for kind, place, detail in operations:
        at = place % (len(content) + 1)
        if kind == "flip" and content:
            at = place % len(content)
            content = content[:at] + bytes([content[at] ^ (1 << detail)]) + content[at + 1 :]
        elif kind == "delete":
            content = content[:at] + content[at + detail :]
        elif kind == "double":
            content = content[: at + detail] + content[at:]
        elif kind == "cut":
            content = content[:at]
        elif kind == "token":
            content = content[:at] + _TOKENS[detail] + content[at:]
        elif kind == "replace":
            content = content[:at] + _TOKENS[detail] + content[at + len(_TOKENS[detail]) :]
        elif kind == "insert":
            content = content[:at] + detail + content[at:]
    return content


def _by_atheris(harness: Harness, seconds: float, seed: int) -> None:
    import atheris

    corpus = harness.folder.with_name(harness.folder.name + "-corpus")
    corpus.mkdir()
    for number, content in enumerate(harness.seeds):
        (corpus / str(number)).write_bytes(content)
    tokens = corpus.with_suffix(".dict")
    lines = ("".join(f"\\x{byte:02x}" for byte in token[:60]) for token in _TOKENS)
    tokens.write_text("".join(f'"{line}"\n' for line in lines))
    arguments = [
        "fuzz", f"-max_total_time={max(1, round(seconds))}", f"-seed={seed + 1}", "-max_len=20000", f"-dict={tokens}",
        "-rss_limit_mb=0", "-timeout=600", "-verbosity=0", str(corpus),
    ]  # fmt: skip
    atheris.Setup(arguments, harness.one)
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("reader")
    parser.add_argument("result", type=Path)
    parser.add_argument("--seconds", type=float, default=_STRETCH)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def hang(*_: object) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, hang)
    random.seed(given.seed)
    try:
        import atheris
    except ImportError:
        atheris = None
    # readers import what they need when they are called, as the harness does with its seeds
    with (
        nullcontext()
        if atheris is None
        else atheris.instrument_imports(include=["einstellung", "yaml", "tests.faults"])
    ):
        harness = Harness(given.reader, given.result, "hypothesis" if atheris is None else "atheris")
    try:
        engine = _by_hypothesis if atheris is None else _by_atheris
        engine(harness, given.seconds, given.seed)
    finally:
        harness.write()
        shutil.rmtree(harness.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
