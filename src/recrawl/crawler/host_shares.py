"""Shard hosts and connections over processes. Pure."""

import os
from dataclasses import replace
from zlib import crc32

from recrawl.crawler.settings import Settings


def process_of(host: str, processes: int) -> int:
    """Return the number of the process that makes all requests to a host.

    Every process can compute it. Names with and without ``www.``, which redirect to each other,
    belong to the same one.

    >>> process_of("www.example.org", 4) == process_of("example.org", 4)
    True
    """
    return crc32(host.removeprefix("www.").encode()) % processes


def share_of(settings: Settings, processes: int) -> Settings:
    """Return the settings of one process, with its share of the connections and parse processes.

    >>> share_of(Settings(connections=64, parse_processes=8), 4).connections
    16
    """
    parsing = settings.parse_processes or os.cpu_count() or 1
    return replace(
        settings,
        connections=-(-settings.connections // processes),
        parse_processes=max(parsing // processes, 1),
    )
