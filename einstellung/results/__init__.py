"""A results folder on disk: its configuration, where its numbers come from, its run files, and what is finished."""
