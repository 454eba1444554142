"""The program as ``python -m partwise``."""

from partwise.cli import main

if __name__ == "__main__":
    main()
