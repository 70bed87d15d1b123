"""The fault campaign: kills, full disks, damaged files, bad inputs and fuzzing, against promises in docs/reliability.md.

``make faults`` runs it in about 20 minutes, ``python -m tests.faults --help`` shows its parts.
"""
