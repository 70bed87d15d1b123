"""``view``: studies in the browser, and ``run --view``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from einstellung.cli.output import echo
from einstellung.cli.parameters import PATH

VIEW = click.option("--view", "viewed", is_flag=True, help="Show the study in the browser while it runs.")


@click.command()
@click.argument("folders", nargs=-1, type=PATH, metavar="[FOLDER]...")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on.  [default: a free one]")
@click.option("--open", "open_browser", is_flag=True, help="Open the browser.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; others may reach any but the default."
)
def view(folders: tuple[Path, ...], port: int, open_browser: bool, host: str) -> None:
    """Browse the studies in these folders, running ones live.  [default: results, else .]

    Only reads. Press Ctrl-C to stop.
    """
    import webbrowser

    from einstellung.view.api import Api
    from einstellung.view.server import ViewServer, is_loopback

    chosen = list(folders) or [Path("results") if Path("results").is_dir() else Path()]
    server = ViewServer(Api(chosen), port, host)
    if not is_loopback(host):
        echo(
            f"warning: {host} may be reachable by others: anyone who learns the address below can read these studies, and "
            "traffic is not encrypted; an SSH tunnel to 127.0.0.1 is safer",
            err=True,
        )
    echo(f"studies: {server.address}")
    if open_browser:
        webbrowser.open(server.address)
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


@contextmanager
def live_view(root: Path, wanted: bool) -> Iterator[None]:
    """``--view``: a server that runs as long as the study."""
    if not wanted:
        yield
        return
    from einstellung.view.process import server_beside

    with server_beside(root) as address:
        echo(f"live: {address}", err=True)
        yield
