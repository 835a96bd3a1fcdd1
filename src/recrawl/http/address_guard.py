"""Tell public IP addresses from private ones, which are connected to only if the user allows it."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

#: Not on the public internet, whatever this version of the standard library says.
_PRIVATE_V4 = tuple(
    ip_network(block)
    for block in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local; cloud metadata services
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_PRIVATE_V6 = tuple(
    ip_network(block)
    for block in (
        "2001::/23",  # protocol assignments, including Teredo
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: can stand for any IPv4 address
        "3fff::/20",  # documentation
    )
)
#: The global unicast range.
_GLOBAL_V6 = IPv6Network("2000::/3")
#: Hold an IPv4 address in the last 32 bits: mapped, compatible, and NAT64.
_EMBEDDING_V4 = tuple(IPv6Network(block) for block in ("::ffff:0:0/96", "::/96", "64:ff9b::/96"))


def is_public(address: str | IPv4Address | IPv6Address) -> bool:
    """Whether an IP address is on the public internet.

    An IPv6 address that embeds an IPv4 address is as public as the latter. Anything that is not an
    IP address is not public.

    >>> is_public("9.9.9.9"), is_public("10.0.0.1"), is_public("::ffff:10.0.0.1")
    (True, False, False)
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, IPv6Address):
        if any(ip in block for block in _EMBEDDING_V4):
            return is_public(IPv4Address(int(ip) & 0xFFFF_FFFF))
        return ip.is_global and ip in _GLOBAL_V6 and not any(ip in block for block in _PRIVATE_V6)
    return ip.is_global and not any(ip in block for block in _PRIVATE_V4)
