"""``live.csv``: the timeline of a job so far, for ``einstellung view``."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from einstellung.files import write_text
from einstellung.results.live_files import LIVE_TIMELINE
from einstellung.timeline.schema import COLUMNS, OPTIONAL_COLUMNS


class LiveTimeline:
    """Replaced after every measurement; removed when the job is finished, as ``timeline.csv`` has the rows then."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / LIVE_TIMELINE
        self._text = io.StringIO()
        self._rows = csv.DictWriter(
            self._text, (*COLUMNS, *OPTIONAL_COLUMNS), extrasaction="ignore", lineterminator="\n"
        )
        self._rows.writeheader()

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """New measurements; those of a resumed run come first, all at once."""
        if rows:
            self._rows.writerows(rows)
            write_text(self.file, self._text.getvalue())

    def remove(self) -> None:
        self.file.unlink(missing_ok=True)
