"""``python -m tests.faults``: run the campaign, or parts of it."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.faults.campaign import COUNTS, Counts, Limit, Part, run_part
from tests.faults.damage import Damage
from tests.faults.disks import Disks
from tests.faults.fuzzing import Fuzzing
from tests.faults.inputs import BadInputs
from tests.faults.kills import Kills
from tests.faults.ray_kills import RayKills
from tests.faults.studies import Study
from tests.faults.table import write_table
from tests.faults.together import Together

#: How much of each part: in CI (two minutes), in ``make faults`` (twenty), and in all parts of ``make faults-full`` together.
SHORT = {
    "kills": Limit(30, "kills", 4),
    "disks": Limit(10),
    "damage": Limit(10),
    "together": Limit(1),
    "inputs": Limit(20),
    "fuzzing": Limit(20),
}
USUAL = {
    "kills": Limit(900, "kills", 100),
    "disks": Limit(90),
    "damage": Limit(150),
    "together": Limit(40),
    "inputs": Limit(300, "bad inputs", 500),
    "fuzzing": Limit(600, "seconds", 300),
    "ray": Limit(300, "kills", 15),
}
FULL = {
    "kills": Limit(7200, "kills", 1000),
    "disks": Limit(3600, "full disks", 100),
    "damage": Limit(3600, "files flipped", 100),
    "together": Limit(1800, "processes", 100),
    "inputs": Limit(3600, "bad inputs", 1500),
    "fuzzing": Limit(3600, "seconds", 1800),
    "ray": Limit(3600, "kills", 100),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--short", action="store_true", help="about two minutes, for CI")
    size.add_argument(
        "--full", action="store_true", help="until the counts reach their goals; a rerun goes on from there"
    )
    parser.add_argument("--part", action="append", choices=list(USUAL), help="only this part; may be repeated")
    parser.add_argument("--seconds", type=float, help="at most so long for each part")
    parser.add_argument("--record", action="store_true", help=f"add the counts to {COUNTS.name}, as --full does")
    parser.add_argument("--table", action="store_true", help="write the counts into docs/reliability.md, and end")
    parser.add_argument("--scratch", type=Path, help="folder for studies and files; kept")
    given = parser.parse_args()
    if given.table:
        write_table()
        return 0
    limits = SHORT if given.short else FULL if given.full else USUAL
    record = COUNTS if given.full or given.record else None
    scratch = given.scratch or Path(tempfile.mkdtemp(prefix="faults-"))
    study, targets = Study(scratch / "studies"), scratch / "targets"
    parts: dict[str, Callable[[], Part]] = {
        "inputs": lambda: BadInputs(scratch / "inputs"),
        "fuzzing": lambda: Fuzzing(scratch / "fuzzing", 2.0 if given.short else 10.0),
        "together": lambda: Together(targets),
        "disks": lambda: Disks(targets),
        "damage": lambda: Damage(targets),
        "kills": lambda: Kills(study, targets),
        "ray": lambda: RayKills(scratch / "ray"),
    }
    failed = []
    for name in [name for name in parts if name in limits and (given.part is None or name in given.part)]:
        if name == "ray" and not RayKills.is_possible():
            print("ray: not tried, Ray is not installed (make test-launchers makes an environment with it)", flush=True)
            continue
        limit = limits[name]
        if given.seconds is not None:
            limit = Limit(given.seconds, limit.counted, limit.enough)
        # in parts: what earlier campaigns counted towards the goal counts
        failed += run_part(parts[name](), limit, Counts.read() if given.full else Counts(), record)
    print(f"{len(failed)} trials failed" + (f"; their files are in {scratch}" if failed else ""))
    if given.scratch is None and not failed:
        shutil.rmtree(scratch, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
