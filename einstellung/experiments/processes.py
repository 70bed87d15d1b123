"""Processes that work for this one: started cheaply, talked to through a pipe, gone when their parent is."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any

from einstellung.errors import InputError
from einstellung.parent_process import end_with_parent

# What a worker's libraries read as they are loaded. Threads that spin while they wait cost a busy machine dearly; the number of
# threads comes from the configuration and is set by each worker, so that nothing else starts more of them.
_LOADED_WITH = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_WAITING = ("OMP_WAIT_POLICY", "passive")
_OURS = "EINSTELLUNG_"
# Torch imports the second at the first optimiser, which would take every worker a second.
_PRELOADED = ["einstellung.experiments.execution", "torch._dynamo"]
_KERNELS = "einstellung.training.preloaded_kernels"


@dataclass
class Helper:
    """A process and this side's end of the pipe to it."""

    process: BaseProcess
    pipe: Connection

    def dismiss(self) -> None:
        """Let it end by itself: it hears that there is nothing more to do."""
        self.pipe.close()
        self.process.join(timeout=5)
        self.end()

    def end(self) -> None:
        self.process.terminate()
        self.process.join()
        self.pipe.close()


def preload_kernels() -> None:
    """Have kernels of our own loaded for helpers, too, if none was started yet."""
    if _KERNELS not in _PRELOADED:
        _PRELOADED.append(_KERNELS)


def start_helper(target: Callable[..., None], *arguments: Any, name: str) -> Helper:
    """Start ``target(pipe, *arguments)`` in a process of its own, with this process's settings (``EINSTELLUNG_...``)."""
    context = _context()
    ours, theirs = context.Pipe()
    settings = {key: value for key, value in os.environ.items() if key.startswith(_OURS)}
    process = context.Process(  # type: ignore[attr-defined]
        target=_run, args=(target, theirs, settings, arguments), name=name, daemon=True
    )
    with _loading_environment():
        try:
            process.start()
        except (EOFError, OSError) as error:  # the server that makes new processes is gone
            raise InputError(f"no new process could be started ({type(error).__name__}: {error}); try again") from None
    theirs.close()  # else its end would not be noticed here
    return Helper(process, ours)


def warm_up() -> None:
    """Have torch imported for later helpers while this process is busy with something else, where the system can do that."""
    if isinstance(_context(), multiprocessing.context.ForkServerContext):
        from multiprocessing.forkserver import ensure_running

        with _loading_environment():
            ensure_running()


def handed_over(pipe: Connection) -> Iterator[Any]:
    """In a helper: what the other side sends, until it closes the pipe."""
    while True:
        try:
            message = pipe.recv()
        except EOFError:
            return
        yield message


def use_threads(count: int) -> None:
    """In a helper: compute with so many threads from now on, and let libraries that are loaded later do the same."""
    import torch

    torch.set_num_threads(count)
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(count)))


def keep_freed_memory() -> bool:
    """In a helper: let C's allocator keep up to a gigabyte that was freed instead of giving it back to the system.

    Every step frees what the next one needs again, and each page that comes back must be filled with zeros first. True where the
    allocator (glibc's) can be told so.
    """
    import ctypes

    tell = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if tell is None:
        return False
    # M_MMAP_THRESHOLD at most, M_TRIM_THRESHOLD, M_TOP_PAD
    return all([tell(-3, 32 * 2**20), tell(-1, 2**30), tell(-2, 64 * 2**20)])


def _context() -> BaseContext:
    """A server process that has imported torch once and forks cheaply, where the system has that."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


@contextmanager
def _loading_environment() -> Iterator[None]:
    """The environment of new processes; this one's is as it was afterwards."""
    before = dict(os.environ)
    os.environ.setdefault(*_WAITING)
    os.environ.update(_LOADED_WITH)
    try:
        yield
    finally:
        for name in (_WAITING[0], *_LOADED_WITH):
            if name in before:
                os.environ[name] = before[name]
            else:
                del os.environ[name]


def _run(target: Callable[..., None], pipe: Connection, settings: dict[str, str], arguments: tuple[Any, ...]) -> None:
    """What the new process does."""
    import torch

    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a study that is stopped ends its workers itself
    # The server they come from was started earlier, perhaps with other settings.
    for name in [name for name in os.environ if name.startswith(_OURS)]:
        del os.environ[name]
    os.environ.update(settings)
    torch.set_num_interop_threads(1)  # operations come one after the other here
    target(pipe, *arguments)
