"""``einstellung view``: studies in the browser, finished and running. Reads results folders, writes nothing, knows no torch."""
