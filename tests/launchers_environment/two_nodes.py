"""Two raylets of one CPU each on loopback, until standard input is closed; the second is killed once a job runs on it.

python two_nodes.py FILE    # the cluster's address is written there
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from ray.cluster_utils import Cluster


def jobs_below(pid: int) -> list[str]:
    """Titles of the processes below a raylet that run a job."""
    titles = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                titles.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip())
        except (OSError, ValueError, IndexError):
            continue
    return [title for title in titles if title.startswith("ray::") and " seed " in title]


def main(ready: Path) -> None:
    size = 200 * 2**20
    own = {"num_cpus": 1, "object_store_memory": size, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, connect=False, head_node_args=own)
    second = cluster.add_node(num_cpus=1, object_store_memory=size)
    (raylet,) = second.all_processes["raylet"]

    def kill_when_busy() -> None:
        while not jobs_below(raylet.process.pid):
            time.sleep(0.1)
        time.sleep(1)
        os.kill(raylet.process.pid, signal.SIGKILL)

    threading.Thread(target=kill_when_busy, daemon=True).start()
    temporary = ready.with_suffix(".part")
    temporary.write_text(cluster.address)
    temporary.replace(ready)
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
