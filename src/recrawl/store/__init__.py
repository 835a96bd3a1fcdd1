"""Pages, their copies and the log of visits in one SQLite file."""
