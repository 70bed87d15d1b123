"""Loaded by every Python process of a campaign's study: a fault at the n-th write below a folder, whoever makes it.

:func:`install` does the same in a process that is forked.

``FAULT_BELOW``: the folder; ``FAULT_COUNT``: a file whose length is the number of writes so far, in all processes together;
``FAULT_AT``: at which one; ``FAULT_KIND``: kill-group, kill-self, full (and full it stays), read-only, or count.
"""

import errno
import os
import signal
import sys
from collections.abc import Mapping

_EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def install(settings: Mapping[str, str]) -> None:
    below = settings.get("FAULT_BELOW")
    if not below:
        return
    count_file, at, kind = settings["FAULT_COUNT"], int(settings.get("FAULT_AT", "0")), settings["FAULT_KIND"]
    inside = False

    def hook(event: str, arguments: tuple) -> None:
        nonlocal inside
        if event not in _EVENTS or inside:
            return
        path = arguments[0]
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & _WRITING):
            return
        if not isinstance(path, str | bytes) or not os.path.abspath(os.fsdecode(path)).startswith(below):
            return
        inside = True
        try:
            handle = os.open(count_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(handle, b".")
            number = os.fstat(handle).st_size
            os.close(handle)
        finally:
            inside = False
        if kind == "kill-group" and number == at:
            os.killpg(os.getpgrp(), signal.SIGKILL)
        if kind == "kill-self" and number == at:
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "full" and number >= at and event not in ("os.remove", "os.rmdir"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fsdecode(path))
        if kind == "read-only" and number >= at:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), os.fsdecode(path))

    sys.addaudithook(hook)


install(os.environ)
