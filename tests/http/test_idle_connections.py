"""Connections that are kept open are closed when nobody can use them any more."""

import asyncio
import math

import pytest
from scripted_web import Web, answer

from recrawl.http.connection import Connection, InvalidResponseError
from recrawl.http.idle_connections import KEEP_ALIVE, IdleConnections

ROUTE = (False, "a.test", None)


def test_a_connection_that_is_too_old_is_not_taken_but_closed() -> None:
    async def main() -> None:
        loop, closed = asyncio.get_running_loop(), asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            assert await reader.read() == b""
            writer.close()
            closed.set()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            _, connection = await loop.create_connection(
                lambda: Connection(100, 1000), *server.sockets[0].getsockname()
            )
            idle = IdleConnections(1)
            idle.keep(ROUTE, connection)
            assert idle.take(ROUTE, connection.used_at + KEEP_ALIVE) is None
            async with asyncio.timeout(60.0):
                await closed.wait()
            idle.close()

    asyncio.run(main())


@pytest.mark.parametrize("answered", [0, 1])
def test_what_comes_without_a_request_is_no_response(answered: int) -> None:
    """Nobody could tell it from the response to the next request."""

    async def main() -> None:
        async with Web({"/": answer()}) as web:
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: Connection(100, 1000), "127.0.0.1", web.port
            )
            for _ in range(answered):
                await connection.request(b"GET / HTTP/1.1\r\n\r\n", 60.0, math.inf)
                assert connection.take_whole() == b"hello"
            connection.data_received(answer("not asked for"))
            with pytest.raises(InvalidResponseError):
                await connection.request(b"GET / HTTP/1.1\r\n\r\n", 60.0, math.inf)

    asyncio.run(main())
