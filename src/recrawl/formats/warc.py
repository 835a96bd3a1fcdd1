"""Write current copies as a WARC file, the format of web archives."""

import os
import re
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import quote

from recrawl.formats.response_head import response_head
from recrawl.formats.tables import check_target, output_file
from recrawl.records import Response

VERSION = "WARC/1.1"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: The last microsecond that a date can represent.
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
#: What a record's header cannot contain.
_NOT_IN_URLS = re.compile(r"[\x00-\x20\x7f\ud800-\udfff]")


class Written(NamedTuple):
    """What a file contains.

    Attributes:
        copies: The number of copies.
        inexact: How many of them have a header, URL or date that could not be written exactly.
    """

    copies: int
    inexact: int


def write_warc(
    copies: Iterable[tuple[str, Response]],
    target: str | os.PathLike[str],
    *,
    at: int,
    software: str,
) -> Written:
    """Write copies as gzipped WARC 1.1 response records.

    A record has the status and headers as received, byte for byte, except those about the encoding
    in transfer, and the date of the visit that fetched it. Its URL is where redirects ended; if
    that is not the page's URL, ``Recrawl-Page`` is. No response of a server can abort the export.

    Args:
        copies: The URL of each page, and the response with its content.
        target: The file, written completely or left as it was, or ``"-"`` for standard output.
        at: The current time, in microseconds since 1970.
        software: The name and version of the program.

    Raises:
        OutputError: The file cannot be written.
    """
    check_target(target)
    written = inexact = 0
    with output_file(target) as file:
        writer = _writer(file)
        writer.write_record(_warcinfo(writer, at, software))
        for page, response in copies:
            record, is_exact = _response(writer, page, response)
            writer.write_record(record)
            written += 1
            inexact += not is_exact
    return Written(written, inexact)


def _writer(file: BinaryIO) -> Any:  # noqa: ANN401 - warcio has no types
    from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

    return WARCWriter(file, gzip=True, warc_version=VERSION)


def _warcinfo(writer: Any, at: int, software: str) -> Any:  # noqa: ANN401
    fields = f"software: {software}\r\nformat: WARC File Format 1.1\r\n".encode()
    headers = {"WARC-Date": _iso(at), "WARC-Record-ID": _record_id("warcinfo", at)}
    return writer.create_warc_record(
        "", "warcinfo", payload=BytesIO(fields), length=len(fields), warc_headers_dict=headers
    )


def _response(writer: Any, page: str, response: Response) -> tuple[Any, bool]:  # noqa: ANN401
    from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped]

    content = response.body or b""
    target, name = _legible(response.url), _legible(page)
    headers = {"WARC-Date": _iso(response.at), "WARC-Record-ID": _record_id(name, response.at)}
    if name != target:
        headers["Recrawl-Page"] = name
    if response.truncated:
        headers["WARC-Truncated"] = "length"
    head, is_exact = response_head(response)
    lines = StatusAndHeaders(str(response.status), [], protocol="HTTP/1.1")
    lines.headers_buff = head
    # Warcio would write headers as text, but they may be any bytes.
    lines.compute_headers_buffer = lambda _: None
    record = writer.create_warc_record(
        target,
        "response",
        payload=BytesIO(content),
        length=len(content),
        http_headers=lines,
        warc_headers_dict=headers,
    )
    as_they_were = (target, name) == (response.url, page) and 0 <= response.at <= _LAST
    return record, is_exact and as_they_were


def _legible(url: str) -> str:
    r"""Return a URL for a header, with invalid characters percent-encoded.

    >>> _legible("https://example.org/a\r\nb\udcff")
    'https://example.org/a%0D%0Ab%ED%B3%BF'
    """
    return _NOT_IN_URLS.sub(lambda sign: quote(sign[0], safe="", errors="surrogatepass"), url)


def _iso(at: int) -> str:
    """Return a time in the format of WARC 1.1, as close as a date can represent it.

    >>> _iso(1)
    '1970-01-01T00:00:00.000001Z'
    """
    return f"{_EPOCH + timedelta(microseconds=min(max(at, 0), _LAST)):%Y-%m-%dT%H:%M:%S.%fZ}"


def _record_id(name: str, at: int) -> str:
    """Return an identifier that is the same for the same copy in every file."""
    return f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{name} {at}')}>"
