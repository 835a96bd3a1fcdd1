"""The program ``recrawl``: each command parses, calls the library, and prints."""
