"""The last line of defence of a command: whatever happens, the user gets one line and an exit code that says what it was."""

from __future__ import annotations

import errno
import os
import select
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from einstellung.errors import InputError
from einstellung.interrupts import ignore_interrupts
from einstellung.version import __version__
from einstellung.visible import shortened, visible

WRONG_INPUT = 2
UNFORESEEN = 70
INTERRUPTED = 130
MOST_CHARACTERS = 299  # of a line
_OF_THE_SYSTEM = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.ENAMETOOLONG,
    errno.ELOOP,
    errno.EMFILE,
    errno.ENFILE,
    errno.EIO,
)


class Finished(Exception):  # noqa: N818 (it is no error)
    """A command ends here with this exit code, and has said why."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def say(name: str, line: str) -> None:
    """One line on standard error, whatever is in it."""
    text = shortened(visible(" ".join(f"{name}: {line}".split())), MOST_CHARACTERS)
    with suppress(OSError, ValueError):  # nobody can hear us
        print(text.encode("utf-8", "backslashreplace").decode("utf-8"), file=sys.stderr, flush=True)


def guarded(run: Callable[[], int], name: str, words: Sequence[str], stopped: str) -> int:
    """Run a command and return its exit code.

    Wrong input and a system that refuses are 2, Ctrl-C is 130 with the line ``stopped``. An error that nobody foresaw is 70: its
    trace goes into a file, which the line names.
    """
    try:
        if odd := next((word for word in words if not _is_text(word)), None):
            raise InputError(f"the argument {odd.encode('utf-8', 'backslashreplace').decode()!r} is not text in UTF-8")
        return run()
    except InputError as error:
        for problem in error.problems:
            say(name, problem)
        return WRONG_INPUT
    except Finished as end:
        return end.code
    except KeyboardInterrupt:
        ignore_interrupts()  # a second Ctrl-C would interrupt the end itself
        say(name, stopped)
        return INTERRUPTED
    except SystemExit as stop:
        say(name, f"code that was loaded ended the program (sys.exit with {stop.code!r}): remove that call")
        return WRONG_INPUT
    except BrokenPipeError as error:
        if not _output_is_closed():
            return _unforeseen(error, name, words)
        # the reader of our output (a pager, head) has closed it: not an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 (the last line of defence)
        if _is_out_of_memory(error):
            say(name, f"not enough memory ({_first_line(error)}): choose smaller sizes")
            return WRONG_INPUT
        if isinstance(error, OSError) and error.errno in _OF_THE_SYSTEM:
            place = f" {os.fsdecode(error.filename)}" if isinstance(error.filename, str | bytes) else ""
            say(name, f"cannot use{place or ' a file'}: {error.strerror}")
            return WRONG_INPUT
        return _unforeseen(error, name, words)


def _unforeseen(error: Exception, name: str, words: Sequence[str]) -> int:
    where = _write_trace(error, name, words)
    say(name, f"unexpected error, {where}: {type(error).__name__}: {shortened(_first_line(error), 100)}")
    return UNFORESEEN


def _write_trace(error: Exception, name: str, words: Sequence[str]) -> str:
    try:
        handle, file = tempfile.mkstemp(prefix=f"{name}-error-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(f"{name} {__version__}, Python {sys.version.split()[0]}, {sys.platform}\n")
            stream.write(f"arguments: {[shortened(word, 1000) for word in words]}\n\n")
            stream.write("".join(traceback.format_exception(error)))
    except OSError:
        return "and its trace could not be written"
    return f"its trace is in {Path(file)}"


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


def _is_text(word: str) -> bool:
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_out_of_memory(error: Exception) -> bool:
    """Python's and numpy's own error, or torch's, which is a RuntimeError with either wording."""
    text = str(error)
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError)
        and ("can't allocate memory" in text or "not enough memory" in text or "out of memory" in text)
    )


def _output_is_closed() -> bool:
    """Whether the reader of standard output is gone."""
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    try:
        poll.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):
        return True
    return any(event & (select.POLLERR | select.POLLHUP | select.POLLNVAL) for _, event in poll.poll(0))
