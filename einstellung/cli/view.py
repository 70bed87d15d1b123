"""``view``: studies in the browser, and ``run --view``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

VIEW = click.option("--view", "viewed", is_flag=True, help="Serve the study to the browser while it runs.")


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[FOLDER]...")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="[default: a free one]")
@click.option("--open", "open_browser", is_flag=True, help="Open the browser.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Listen on another address, where others may reach it."
)
def view(folders: tuple[Path, ...], port: int, open_browser: bool, host: str) -> None:
    """Show the studies in these folders in the browser, running ones live.  [default: results, else .]

    It reads and never writes. Ctrl-C ends it.
    """
    import webbrowser

    from einstellung.view.api import Api
    from einstellung.view.server import ViewServer, is_loopback

    chosen = list(folders) or [Path("results") if Path("results").is_dir() else Path()]
    server = ViewServer(Api(chosen), port, host)
    if not is_loopback(host):
        click.echo(
            f"warning: {host} can be reached by others: whoever learns the address below can read these studies, and it "
            "is sent unencrypted; an SSH tunnel to 127.0.0.1 is safer",
            err=True,
        )
    click.echo(f"studies: {server.address}")
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
    """``--view``: a server beside the run, which ends with it."""
    if not wanted:
        yield
        return
    from einstellung.view.process import server_beside

    with server_beside(root) as address:
        click.echo(f"live: {address}", err=True)
        yield
