"""Which addresses are public, and that no other is connected to."""

import asyncio
import threading
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_web import Names, Web, answer, only_loopback_is_public

from recrawl.http.address_guard import is_public
from recrawl.http.connection import Connection
from recrawl.http.connector import Attempt, Connector


@pytest.mark.parametrize(
    "address",
    ["9.9.9.9", "1.1.1.1", "93.184.215.14", "172.15.255.255", "172.32.0.0", "100.63.255.255",
     "100.128.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "192.0.1.0", "11.0.0.0",
     "2606:4700:4700::1111", "2a00:1450:4001:80e::200e", "::ffff:9.9.9.9", "64:ff9b::9.9.9.9",
     "2400:cb00::1"],
)  # fmt: skip
def test_the_internet_is_public(address: str) -> None:
    assert is_public(address)
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    ["0.0.0.1", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255",
     "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.1", "172.31.255.255",
     "192.0.0.1", "192.0.0.8", "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.168.1.1",
     "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
     "239.255.255.255", "240.0.0.1", "255.255.255.255",
     "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::10.0.0.1",
     "::ffff:0:10.0.0.1", "::ffff:0:9.9.9.9", "64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1",
     "64:ff9b:1::9.9.9.9", "100::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
     "2001:db8::1", "2002:a00:1::1", "2002:909:909::1", "3fff::1", "5f00::1", "fc00::1", "fd12::1",
     "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "4000::1",
     "", "localhost", "9.9.9", "0x7f.1", "2130706433"],
)  # fmt: skip
def test_everything_else_is_not(address: str) -> None:
    assert not is_public(address)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_inside_another_is_as_public_as_it_is(inner: IPv4Address) -> None:
    expected = is_public(inner)
    for prefix in ("::ffff:0:0", "::", "64:ff9b::"):
        assert is_public(IPv6Address(int(IPv6Address(prefix)) + int(inner))) is expected
    assert not is_public(IPv6Address((0x2002 << 112) + (int(inner) << 80)))


@given(st.ip_addresses(v=4))
def test_what_python_calls_private_is_never_public(address: IPv4Address) -> None:
    if address.is_private or address.is_multicast or address.is_reserved:
        assert not is_public(address)
    else:
        shared = ("100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24")
        assert is_public(address) is not any(address in ip_network(block) for block in shared)


async def ask(connector: Connector, host: str, port: int, attempt: Attempt) -> int:
    """Request a page from a host; return the status."""
    loop = asyncio.get_running_loop()
    connection = await connector.open(host, port, lambda: Connection(100, 1000), attempt)
    try:
        await connection.request(
            b"GET / HTTP/1.1\r\nHost: host.test\r\n\r\n", 60.0, loop.time() + 60.0
        )
    finally:
        connection.close()
    return connection.status


def connect(names: Names, *, allow_private: bool = False) -> tuple[Attempt, int | BaseException]:
    """Request a page from a host; return the attempt, and the status or the error."""

    async def run() -> tuple[Attempt, int | BaseException]:
        attempt = Attempt()
        async with Web({"/": answer()}) as web:
            made = Connector(
                allow_private=allow_private, resolver=names, allowed=only_loopback_is_public
            )
            try:
                return attempt, await ask(made, "host.test", web.port, attempt)
            except OSError as error:
                return attempt, error

    return asyncio.run(run())


def test_a_public_address_is_connected_to() -> None:
    assert connect(Names()) == (Attempt(connected=True), 200)


@pytest.mark.parametrize("address", ["127.0.0.2", "10.1.2.3", "169.254.169.254", "::1"])
def test_a_private_address_is_not_connected_to(address: str) -> None:
    attempt, error = connect(Names({"host.test": [[address]]}))
    assert attempt == Attempt(connected=False, refused=address)
    assert isinstance(error, OSError)
    assert "not public" in str(error)


def test_of_several_addresses_only_public_ones_are_connected_to() -> None:
    attempt, status = connect(Names({"host.test": [["127.0.0.2", "10.0.0.1", "127.0.0.1"]]}))
    assert status == 200
    assert attempt.connected
    attempt, error = connect(Names({"host.test": [["127.0.0.2", "10.0.0.1", "::1"]]}))
    assert isinstance(error, OSError)
    assert not attempt.connected
    assert attempt.refused is not None


def test_private_addresses_can_be_allowed() -> None:
    attempt, _ = connect(Names({"host.test": [["127.0.0.1"]]}), allow_private=True)
    assert attempt == Attempt(connected=True)


def test_the_system_looks_names_up() -> None:
    async def run() -> int:
        async with Web({"/": answer()}) as web:
            made = Connector(allow_private=True)
            try:
                return await ask(made, "localhost", web.port, Attempt())
            finally:
                made.close()

    before = threading.active_count()
    assert asyncio.run(run()) == 200
    for thread in threading.enumerate():
        if thread.name.startswith("dns"):
            thread.join(60.0)
    assert threading.active_count() <= before
