"""``python -m einstellung``: the command."""

from einstellung.cli import main

if __name__ == "__main__":
    main()
