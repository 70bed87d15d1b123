"""What a worker owes to the process that started it."""

from __future__ import annotations

import multiprocessing
import os
import threading


def end_with_parent() -> None:
    """End this process as soon as its parent has: what the parent held (a folder, a core) would else be taken twice."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "a process that multiprocessing started"

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
