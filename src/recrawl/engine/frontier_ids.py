"""The frontier's ids of hosts and sections."""

from collections.abc import Mapping
from typing import final


@final
class FrontierIds:
    """The frontier's ids of hosts and sections.

    >>> ids = FrontierIds()
    >>> [ids.host("a.example"), ids.host("b.example"), ids.host("a.example")]
    [0, 1, 0]
    >>> [ids.section("https://a.example/x/1"), ids.section("https://a.example/x/2")]
    [0, 0]
    """

    def __init__(self) -> None:
        self._hosts: dict[str, int] = {}
        self._sections: dict[str, int] = {}

    @property
    def hosts(self) -> Mapping[str, int]:
        """The ids of all hosts so far, by name."""
        return self._hosts

    @property
    def sections(self) -> Mapping[str, int]:
        """The ids of all sections so far, by folder."""
        return self._sections

    def host(self, name: str) -> int:
        """Return a host's id."""
        return self._hosts.setdefault(name, len(self._hosts))

    def section(self, url: str) -> int:
        """Return the id of the folder that a page is in."""
        return self._sections.setdefault(folder_of(url), len(self._sections))


def folder_of(url: str) -> str:
    """Return the folder that a page is in.

    >>> folder_of("https://a.example/x/1")
    'https://a.example/x'
    """
    return url.rpartition("/")[0]
