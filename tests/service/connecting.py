"""Real connections to a service, byte by byte."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from service.served import Served, served, settings_in

from recrawl.service.listening import Address, answering, bound


@asynccontextmanager
async def listening(folder: Path) -> AsyncIterator[tuple[Served, int]]:
    """Serve at a real port."""
    with bound(Address("127.0.0.1", 0)) as listener:
        async with (
            served(settings_in(folder)) as on,
            answering(on.service, listener, ["localhost"]),
        ):
            yield on, listener.getsockname()[1]


async def exchange(port: int, *parts: bytes) -> bytes:
    """Send something, and return what comes until the connection is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        async with asyncio.timeout(600.0):
            return await reader.read()
    except (ConnectionError, BrokenPipeError):
        return b""
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
