"""Files by which a running study can be watched: ``progress.json`` and, in the folder of each unfinished job, ``live.csv``.

Both go when what they describe is finished. Readers need no lock: each is replaced as a whole.
"""

from __future__ import annotations

PROGRESS = "progress.json"
LIVE_TIMELINE = "live.csv"

#: A process that runs a study renews ``progress.json`` at least this often, even when there is nothing new.
HEARTBEAT_SECONDS = 5.0
#: Without renewal for this long, the process has ended without saying so (killed, power cut) or is suspended.
SILENT_SECONDS = 30.0
