"""A server in a process of its own, while a study runs."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from einstellung.errors import InputError
from einstellung.exit_with_parent import exit_with_parent
from einstellung.view.api import Api
from einstellung.view.server import ViewServer


@contextmanager
def server_beside(folder: Path) -> Iterator[str]:
    """Serve ``folder`` from another process, so that no request holds up this one; yields the address."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(folder, theirs), name="einstellung view", daemon=True)
    process.start()
    theirs.close()
    try:
        try:
            address: str = ours.recv()
        except EOFError:
            raise InputError(
                "the server for --view did not start; run 'einstellung view' in another terminal instead"
            ) from None
        yield address
    finally:
        process.terminate()
        process.join()


def _serve(folder: Path, pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the study's, which ends this process then
    exit_with_parent()
    server = ViewServer(Api([folder]))
    pipe.send(server.address)
    pipe.close()
    server.serve_forever(poll_interval=0.2)
