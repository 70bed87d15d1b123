"""The installed command, run from a checkout: ``python -m benchmarks.einstellung_command ...``."""

from einstellung.cli import main

if __name__ == "__main__":
    main()
