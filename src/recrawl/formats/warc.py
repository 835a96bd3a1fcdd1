"""Current copies as a WARC file, the format of web archives."""

import os
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from io import BytesIO
from typing import Any, BinaryIO

from recrawl.formats.tables import check_target, whole_file
from recrawl.records import Response

VERSION = "WARC/1.1"
#: Headers that no longer hold once the content was decompressed and reassembled.
_TRANSFER_HEADERS = frozenset(["content-encoding", "transfer-encoding", "content-length"])
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def write_warc(
    copies: Iterable[tuple[str, Response]],
    target: str | os.PathLike[str],
    *,
    at: int,
    software: str,
) -> int:
    """Write copies as gzipped WARC 1.1 response records; return their number.

    A record has the status and headers as received, except those about the encoding in transfer,
    and the date of the visit that fetched it. Its URL is where redirects ended; if that is not the
    page's URL, ``Recrawl-Page`` is.

    Args:
        copies: The URL of each page, and the response with its content.
        target: The file, written completely or left as it was.
        at: The current time, in microseconds since 1970.
        software: The name and version of the program.

    Raises:
        OutputError: The file cannot be written.
    """
    check_target(target)
    written = 0
    with whole_file(target) as file:
        writer = _writer(file)
        writer.write_record(_warcinfo(writer, at, software))
        for page, response in copies:
            writer.write_record(_response(writer, page, response))
            written += 1
    return written


def _writer(file: BinaryIO) -> Any:  # noqa: ANN401 - warcio has no types
    from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

    return WARCWriter(file, gzip=True, warc_version=VERSION)


def _warcinfo(writer: Any, at: int, software: str) -> Any:  # noqa: ANN401
    fields = f"software: {software}\r\nformat: WARC File Format 1.1\r\n".encode()
    headers = {"WARC-Date": _iso(at), "WARC-Record-ID": _record_id("warcinfo", at)}
    return writer.create_warc_record(
        "", "warcinfo", payload=BytesIO(fields), length=len(fields), warc_headers_dict=headers
    )


def _response(writer: Any, page: str, response: Response) -> Any:  # noqa: ANN401
    from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped]

    content = response.body or b""
    kept = [
        (name, _one_line(value)) for name, value in response.headers if not _is_about_transfer(name)
    ]
    headers = {"WARC-Date": _iso(response.at), "WARC-Record-ID": _record_id(page, response.at)}
    if page != response.url:
        headers["Recrawl-Page"] = page
    if response.truncated:
        headers["WARC-Truncated"] = "length"
    return writer.create_warc_record(
        response.url,
        "response",
        payload=BytesIO(content),
        length=len(content),
        http_headers=StatusAndHeaders(
            _status(response.status),
            [*kept, ("Content-Length", str(len(content)))],
            protocol="HTTP/1.1",
        ),
        warc_headers_dict=headers,
    )


def _is_about_transfer(name: str) -> bool:
    return name.lower() in _TRANSFER_HEADERS


def _one_line(value: str) -> str:
    r"""Return a header's value on one line and as valid text.

    >>> _one_line("a\r\nb\udcff")
    'a b?'
    """
    return " ".join(value.splitlines()).encode("utf-8", "replace").decode()


def _status(status: int) -> str:
    """Return a status with its standard phrase, since the server's own is not kept.

    >>> _status(404), _status(299)
    ('404 Not Found', '299 ')
    """
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
    return f"{status} {phrase}"


def _iso(at: int) -> str:
    """Return a time in the format of WARC 1.1.

    >>> _iso(1)
    '1970-01-01T00:00:00.000001Z'
    """
    return f"{_EPOCH + timedelta(microseconds=at):%Y-%m-%dT%H:%M:%S.%fZ}"


def _record_id(name: str, at: int) -> str:
    """Return an identifier that is the same for the same copy in every file."""
    return f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{name} {at}')}>"
