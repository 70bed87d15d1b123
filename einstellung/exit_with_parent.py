"""Worker processes that do not outlive their parent."""

from __future__ import annotations

import multiprocessing
import os
import threading


def exit_with_parent() -> None:
    """End this process as soon as its parent ends, so that no orphan keeps a folder or a core."""
    parent = multiprocessing.parent_process()
    assert parent is not None, "a process that multiprocessing started"

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
