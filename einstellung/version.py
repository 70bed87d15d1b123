"""The version, in a file of its own: whatever records it need not import the public names."""

__version__ = "0.1.0"
