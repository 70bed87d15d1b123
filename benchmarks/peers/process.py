"""Our side of a peer: start its process, request workloads, end it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parents[2]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}


class PeerError(Exception):
    """A peer that did not start or ended early; the message is its last line of output."""


@dataclass(frozen=True)
class Done:
    """The result of a workload: number of images, and core-seconds of the peer's process."""

    images: int
    core_seconds: float


class Peer:
    """A running framework. ``facts`` as reported by its process: workloads, version, the net's FLOPs."""

    def __init__(self, command: Sequence[str | Path]) -> None:
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                list(map(str, command)),
                cwd=ROOT,
                env={**os.environ, **ONE_THREAD},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                text=True,
            )
        except OSError as error:
            self._said.close()
            raise PeerError(f"{command[0]} cannot be started as an interpreter: {error.strerror}") from None
        self._facts: dict[str, Any] | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """Wait until the peer is ready."""
        if self._facts is None:
            self._facts = self._answer()
        return self._facts

    def do(self, work: str) -> Done:
        assert work in self.facts["works"], work
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # then there is no answer either, which is reported below
            self._process.stdin.write(work + "\n")
            self._process.stdin.flush()
        return Done(**self._answer())

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            return json.loads(line)
        self._process.wait()
        self._said.seek(0)
        lines = self._said.read().strip().splitlines()
        raise PeerError(lines[-1] if lines else f"it ended with exit code {self._process.returncode}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Closing its input ends the process; a busy one is terminated."""
        if error is not None:
            self._process.kill()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):  # from a request still buffered for a peer that has ended
            self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._said.close()
