"""What hostile servers send beside bodies, or instead of them: behaviours by name."""

import asyncio
from collections.abc import Awaitable, Callable

from acceptance.bombs import fresh

Behaviour = Callable[[str, asyncio.StreamWriter], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
#: A gzip header whose file name has no end.
GZIP_NAME = b"\x1f\x8b\x08\x08" + bytes(6)
#: A page that asks whoever fetches it to prove not to be a program.
CHALLENGE = (
    b"<!doctype html><title>Just a moment...</title><script>window._cf_chl_opt={cType:'managed'};"
    b"</script><p>Checking your browser before you go on."
)


def forever(head: bytes, piece: bytes, pause: float = 0.0) -> Behaviour:
    """Return what a host does that sends a head, and then the same piece without end."""

    async def do(_: str, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while not writer.is_closing():
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return do


async def challenge(_: str, writer: asyncio.StreamWriter) -> None:
    """Send a challenge as if it were the page."""
    body = CHALLENGE + fresh()
    head = OK + b"cf-mitigated: challenge\r\nContent-Length: %d\r\n\r\n" % len(body)
    writer.write(head + body)


async def status_099(_: str, writer: asyncio.StreamWriter) -> None:
    """Send a status that does not exist, and then a page."""
    body = fresh()
    writer.write(
        b"HTTP/1.1 099 Low\r\n\r\n" + OK + b"Content-Length: %d\r\n\r\n" % len(body) + body
    )


FRAMING: dict[str, Behaviour] = {
    "endless_trailers": forever(CHUNKED + b"5\r\nhello\r\n0\r\n", b"X-Trailer: yes\r\n" * 4_000),
    "endless_trailer": forever(CHUNKED + b"5\r\nhello\r\n0\r\nX-Trailer: ", b"y" * 60_000),
    "endless_extension": forever(CHUNKED + b"5\r\nhello\r\n5;", b"x=y;" * 15_000),
    "chunks_of_a_byte": forever(CHUNKED, b"1\r\nx\r\n" * 10_000),
    "endless_interim": forever(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2_500),
    "blank_lines": forever(b"", b"\r\n" * 30_000),
    "endless_file_name": forever(OK + b"Content-Encoding: gzip\r\n\r\n" + GZIP_NAME, b"n" * 60_000),
    "just_not_too_slow": forever(OK + b"\r\n" + b"<p>a" * 150_000, b"<p>b" * 35_000, 0.9),
    challenge.__name__: challenge,
    status_099.__name__: status_099,
}
