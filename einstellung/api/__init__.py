"""What ``import einstellung`` offers: the same steps as the command line, as functions that return objects."""
