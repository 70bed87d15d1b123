"""Benchmarks with their references: run them with ``python -m benchmarks`` (or ``make bench``)."""
