"""What is measured, against what, and how to run it again: ``python -m benchmarks`` (or ``make bench``)."""
