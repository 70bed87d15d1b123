"""Other frameworks at the same work, each in a process and by an interpreter of its own, through its own code."""
