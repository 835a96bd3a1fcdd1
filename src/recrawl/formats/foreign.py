"""Files that are no tables, recognised by their first bytes, and what to type instead."""

from recrawl.formats.source import Source

_COPY = "write the log as Parquet, for example with"
#: First bytes, and what to do about such a file.
_KNOWN = (
    (b"SQLite format 3", "this is an SQLite database; export the log as CSV: sqlite3 -header -csv"),
    (b"PK\x03\x04", "this is a zip archive or an Excel workbook; unpack it, or save it as CSV"),
    (b"SEQ", "this is a Hadoop sequence file; Nutch writes CSV with: nutch readdb … -format csv"),
    (b"ORC", f"this is an ORC file; {_COPY} df.write.parquet(…) in Spark"),
    (b"Obj\x01", f"this is an Avro file; {_COPY} df.write.parquet(…) in Spark"),
    (b"\x80", f"this is a Python pickle; {_COPY} df.to_parquet(…) in pandas"),
    (b"WARC/", "this is a WARC file; use its index, with the columns url, timestamp and digest"),
    (b"%PDF", "this is a PDF file, not a table"),
    (b"<", "this is HTML or XML, not a table; Scrapy writes JSON lines with: -O log.jsonl"),
)
_DUCKDB = b"DUCK"
_DUCKDB_AT = 8
_ARRAY = (
    "this is one JSON array; write one object per line: -O log.jsonl in Scrapy, "
    "lines=True in pandas, or jq -c '.[]'"
)


def refuse_foreign(source: Source) -> None:
    """Raise an error that says what to type if a file is of a kind that is no table."""
    head = source.head
    if head[_DUCKDB_AT:].startswith(_DUCKDB):
        raise source.error(f"this is a DuckDB database; {_COPY} COPY log TO 'log.parquet'")
    if head.lstrip().startswith(b"["):
        raise source.error(_ARRAY)
    for magic, problem in _KNOWN:
        if head.startswith(magic):
            raise source.error(problem)
