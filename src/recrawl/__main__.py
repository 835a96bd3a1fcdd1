"""Lets ``python -m recrawl`` do what ``recrawl`` does."""

from recrawl.cli.app import main

if __name__ == "__main__":
    main()
