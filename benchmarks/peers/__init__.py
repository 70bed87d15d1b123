"""Other frameworks on the same workload, each with its own code, process and interpreter."""
