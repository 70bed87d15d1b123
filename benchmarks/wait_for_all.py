"""Run a command and wait for every process below it, those that outlive it included (on Linux)."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from contextlib import suppress

_SET_CHILD_SUBREAPER = 36  # of prctl(2): processes whose parent has ended become children of this one


def main() -> int:
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    code = subprocess.run(sys.argv[1:]).returncode
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return code


if __name__ == "__main__":
    sys.exit(main())
