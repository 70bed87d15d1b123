"""Worker processes: cheap to start, connected by a pipe, terminated with their parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

from einstellung.errors import InputError
from einstellung.exit_with_parent import exit_with_parent
from einstellung.interrupts import interrupts_deferred

# Read by a worker's libraries as they are loaded. Threads that spin while they wait slow a busy machine down; each worker sets
# the number of threads itself, from the configuration.
_LOADED_WITH = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_WAITING = ("OMP_WAIT_POLICY", "passive")
_OURS = "EINSTELLUNG_"
# Torch imports the second at the first optimiser, which would take every worker a second.
_PRELOADED = ["einstellung.experiments.execution", "torch._dynamo"]
_KERNELS = "einstellung.training.preloaded_kernels"


@dataclass(eq=False)
class Worker:
    """A process and this side's end of the pipe to it."""

    process: BaseProcess
    pipe: Connection

    def close(self) -> None:
        """Let an idle worker exit by itself."""
        self.pipe.close()
        self.process.join(timeout=5)
        self.stop()

    def stop(self) -> None:
        """Terminate the worker at once."""
        self.process.terminate()
        self.process.join()
        self.pipe.close()

    def exit_reason(self) -> str:
        """How a worker exited that closed its pipe."""
        self.process.join(timeout=5)
        code = self.process.exitcode
        return f"was killed by signal {-code}" if code is not None and code < 0 else f"exited with code {code}"


def preload_kernels() -> None:
    """Have workers start with the compiled kernels loaded; call it before the first worker starts."""
    if _KERNELS not in _PRELOADED:
        _PRELOADED.append(_KERNELS)


def start_worker(target: Callable[..., None], *arguments: Any, name: str) -> Worker:
    """Start ``target(pipe, *arguments)`` in a new process, with this process's ``EINSTELLUNG_...`` variables."""
    context = _context()
    ours, theirs = context.Pipe()
    settings = {key: value for key, value in os.environ.items() if key.startswith(_OURS)}
    process = context.Process(  # type: ignore[attr-defined]
        target=_run, args=(target, theirs, settings, arguments), name=name, daemon=True
    )
    with _loading_environment(), _without_main():
        try:
            process.start()
        except (EOFError, OSError) as error:  # the fork server is gone
            raise InputError(
                f"cannot start a worker process ({type(error).__name__}: {error}); rerun the command"
            ) from None
    theirs.close()  # otherwise the worker's death would not close the pipe
    return Worker(process, ours)


def warm_up() -> None:
    """Start the fork server, which imports torch for later workers while this process continues."""
    if isinstance(_context(), multiprocessing.context.ForkServerContext):
        from multiprocessing.forkserver import ensure_running

        with _loading_environment():
            ensure_running()


def messages(pipe: Connection) -> Iterator[Any]:
    """In a worker: what the parent sends, until it closes the pipe."""
    while True:
        try:
            message = pipe.recv()
        except EOFError:
            return
        yield message


def use_threads(count: int) -> None:
    """In a worker: compute with ``count`` threads, in libraries that are loaded later as well."""
    import torch

    torch.set_num_threads(count)
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(count)))


def keep_freed_memory() -> bool:
    """In a worker: let glibc's allocator keep up to a gigabyte of freed memory instead of returning it to the system.

    Every step frees what the next one allocates, and the system zeroes each page before it hands it out again. False where
    the allocator has no such setting.
    """
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is None:
        return False
    # M_MMAP_THRESHOLD at most, M_TRIM_THRESHOLD, M_TOP_PAD
    return all([mallopt(-3, 32 * 2**20), mallopt(-1, 2**30), mallopt(-2, 64 * 2**20)])


def _context() -> BaseContext:
    """A fork server that has imported torch once, where the system has one."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


@contextmanager
def _loading_environment() -> Iterator[None]:
    """Set the environment that new processes inherit, and restore it; Ctrl-C is this process's affair."""
    before = dict(os.environ)
    os.environ.setdefault(*_WAITING)
    os.environ.update(_LOADED_WITH)
    try:
        with interrupts_deferred():
            yield
    finally:
        for name in (_WAITING[0], *_LOADED_WITH):
            if name in before:
                os.environ[name] = before[name]
            else:
                del os.environ[name]


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the caller's script while a process starts.

    A new process would import it, and run a study again that stands in it without ``if __name__ == "__main__"``. What workers do
    is in modules of this package.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _run(target: Callable[..., None], pipe: Connection, settings: dict[str, str], arguments: tuple[Any, ...]) -> None:
    """The entry point of a worker process."""
    import torch

    exit_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops its workers itself
    # The fork server was started earlier, perhaps with other variables.
    for name in [name for name in os.environ if name.startswith(_OURS)]:
        del os.environ[name]
    os.environ.update(settings)
    torch.set_num_interop_threads(1)  # operations run one after the other
    target(pipe, *arguments)
