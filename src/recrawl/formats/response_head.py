"""The status line and headers of a response as bytes, to go with its decoded body."""

import re
from http import HTTPStatus
from typing import NamedTuple

from recrawl.records import Response

#: Headers that no longer apply to the decompressed, reassembled content.
_TRANSFER_HEADERS = frozenset(["content-encoding", "transfer-encoding", "content-length"])
_BREAK = re.compile(r"[\r\n]+[ \t]*")
_NO_NAME = re.compile(r"[\x00-\x20\x7f:]+")


class Head(NamedTuple):
    """The first lines of a response, up to the empty one.

    Attributes:
        content: As bytes.
        is_exact: Whether each header that still applies is byte for byte as received.
    """

    content: bytes
    is_exact: bool


def response_head(response: Response) -> Head:
    r"""Return status and headers of a response with its decoded content.

    Those about the encoding in transfer are left out, and Content-Length is that of the content.

    >>> from recrawl.records import Response
    >>> headers = (("Content-Encoding", "gzip"), ("X-Name", "Zo\xc3\xab"))
    >>> head = response_head(Response("https://example.org/", 200, 0, headers, b"hello"))
    >>> head.content
    b'HTTP/1.1 200 OK\r\nX-Name: Zo\xc3\xab\r\nContent-Length: 5\r\n\r\n'
    """
    fields = [
        _field(name, value)
        for name, value in response.headers
        if name.lower() not in _TRANSFER_HEADERS
    ]
    lines = [
        f"HTTP/1.1 {_status(response.status)}".encode(),
        *(line for line, _ in fields),
        b"Content-Length: %d" % len(response.body or b""),
        b"",
    ]
    return Head(b"".join(b"%s\r\n" % line for line in lines), all(exact for _, exact in fields))


def _field(name: str, value: str) -> tuple[bytes, bool]:
    r"""Return a header as one line, and whether it is as received.

    Headers are kept as Latin-1, in which any byte is valid; anything else was never received.

    >>> _field("Link", "\xc3\xa9\x85"), _field("A B", "\u20ac\r\n c")
    ((b'Link: \xc3\xa9\x85', True), (b'A-B: \xe2\x82\xac c', False))
    """
    tidy = f"{_NO_NAME.sub('-', name) or '-'}: {_BREAK.sub(' ', value)}"
    try:
        return tidy.encode("latin-1", "surrogateescape"), tidy == f"{name}: {value}"
    except UnicodeEncodeError:
        return tidy.encode("utf-8", "replace"), False


def _status(status: int) -> str:
    """Return a status with its standard phrase, since the server's own is not kept.

    >>> _status(404), _status(299)
    ('404 Not Found', '299 ')
    """
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
    return f"{status} {phrase}"
