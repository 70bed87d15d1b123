"""The guide's command; ``--help`` lists its flags."""

from einstellung.guide.command import main

if __name__ == "__main__":
    main()
