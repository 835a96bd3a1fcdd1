"""One command per file: parse, call one function, render."""
