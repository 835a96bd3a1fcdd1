"""Recognise files that are not tables by their first bytes, and say what to do instead."""

import re

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
    (b"\x89PNG", "this is a picture, not a table"),
    (b"\xff\xd8\xff", "this is a picture, not a table"),
    (b"GIF8", "this is a picture, not a table"),
    (b"\xff\xfe", "this is UTF-16 text; convert it: iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "this is UTF-16 text; convert it: iconv -f UTF-16 -t UTF-8"),
    (b"<", "this is HTML or XML, not a table; Scrapy writes JSON lines with: -O log.jsonl"),
)
_DUCKDB = b"DUCK"
_DUCKDB_AT = 8
_ARRAY = (
    "this is one JSON array; write one object per line: -O log.jsonl in Scrapy, "
    "lines=True in pandas, or jq -c '.[]'"
)
_TABLE_OF_TEXTS = (
    "this is one JSON array of rows, as the Wayback Machine answers; write it as CSV: "
    "jq -r '.[] | @csv'"
)
#: Patterns of the first line of a text, and what to do about such a file.
_LINES = {
    re.compile(r"^\S+ \d{14} \{"): (
        "this is a CDXJ index; write it as JSON lines: "
        """awk '{t=$2; sub(/^[^{]*[{]/, "{\\"timestamp\\": \\"" t "\\", "); print}'"""
    ),
    re.compile(r"^ ?CDX [A-Za-z]"): (
        "this is a CDX index; write it as a table: awk -v OFS='\\t' "
        """'NR==1 {print "time","page","status","digest"; next} {print $2,$3,$5,$6}'"""
    ),
    re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z\s+-?\d+\s"): (
        "this is a crawl.log of Heritrix; write it as a table: awk -v OFS='\\t' "
        """'BEGIN {print "time","status","page","digest"} {print $1,$2,$4,$10}'"""
    ),
    re.compile(r"^\S+\tVersion: \d"): (
        "this is a dump of Nutch as text; write it as CSV: nutch readdb … -dump … -format csv"
    ),
    re.compile(r"^[^\s,;|]+( [^\s,;|]+)+$"): (
        "the columns are separated by spaces; write commas or tabs: tr ' ' '\\t'"
    ),
}


def refuse_foreign(source: Source) -> None:
    """Raise an error with a remedy if a file is recognised as something other than a table."""
    head = source.head
    if head[_DUCKDB_AT:].startswith(_DUCKDB):
        raise source.error(f"this is a DuckDB database; {_COPY} COPY log TO 'log.parquet'")
    if head.lstrip().startswith(b"["):
        is_of_texts = head.lstrip()[1:].lstrip().startswith(b"[")
        raise source.error(_TABLE_OF_TEXTS if is_of_texts else _ARRAY)
    for magic, problem in _KNOWN:
        if head.startswith(magic):
            raise source.error(problem)


def refuse_lines(source: Source, first: str) -> None:
    """Raise an error with a remedy if the first line of a text shows that it is not a table."""
    for pattern, problem in _LINES.items():
        if pattern.match(first):
            raise source.error(problem, row=1)
