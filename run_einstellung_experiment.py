"""The guide's command; ``--help`` lists its flags."""

from einstellung.guide.front_door import main

if __name__ == "__main__":
    main()
