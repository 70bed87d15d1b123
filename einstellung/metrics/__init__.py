"""Pure numbers from timelines: what was learned, how fast, and for which reason."""
