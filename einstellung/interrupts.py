"""Ctrl-C reaches every process of a terminal: only the one in front should answer it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Start processes in this block that never see Ctrl-C; this process gets one that arrives meanwhile after the block.

    A process that is still importing its modules would print a traceback. Those started here inherit the blocked signal.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # it unblocks the signal when it starts, so it must not start in the block
    handler = signal.getsignal(signal.SIGINT)
    # Another thread, of which a library may have started some, takes the signal if this one blocks it, and Python then runs
    # the handler here at once. So the handler, too, waits for the end of the block.
    postponed = callable(handler) and threading.current_thread() is threading.main_thread()
    arrived: list[int] = []
    if postponed:
        signal.signal(signal.SIGINT, lambda number, _: arrived.append(number))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if postponed:
            signal.signal(signal.SIGINT, handler)
            if arrived:
                signal.raise_signal(signal.SIGINT)


def ignore_interrupts() -> None:
    """From here on, Ctrl-C is ignored: the process is ending anyway."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
