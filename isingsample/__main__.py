"""`python -m isingsample`, the same as the command `isingsample`."""

from isingsample.cli.main import main

if __name__ == "__main__":
    main()
