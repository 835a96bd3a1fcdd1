"""Which host a page belongs to, read off its address."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Ints
from recrawl.units import quoted

#: Scheme, two slashes, and all up to the path, the query or the fragment.
_HOST = r"^[A-Za-z][A-Za-z0-9+.\-]*://(?P<host>[^/?#]*)"


def host_numbers(names: pa.Array) -> Ints:
    """Number the pages' hosts from 0; all pages that are no addresses count as one host.

    >>> host_numbers(pa.array(["http://a.org/x", "b", "https://A.org", "c"]))
    array([0, 1, 0, 1])
    """
    if pa.types.is_integer(names.type):
        return np.zeros(len(names), np.int64)
    return _numbered(_hosts(names))


def limited_hosts(names: pa.Array) -> Ints:
    """Number the hosts that ``--host-budget`` limits; a page without a host cannot be limited so.

    >>> limited_hosts(pa.array(["http://a.org/x", "b"]))
    Traceback (most recent call last):
    recrawl.errors.ArgumentError: --host-budget: the page 'b' is no address, so it has no host
    """
    hosts = _hosts(names.cast(pa.large_string()))
    without = pc.index(hosts, "").as_py()
    if without >= 0:
        name = quoted(str(names[without].as_py()))
        raise ArgumentError(f"--host-budget: the page {name} is no address, so it has no host")
    return _numbered(hosts)


def _hosts(names: pa.Array) -> pa.Array:
    hosts = pc.utf8_lower(pc.struct_field(pc.extract_regex(names, _HOST), "host"))
    return hosts.fill_null("")


def _numbered(hosts: pa.Array) -> Ints:
    return np.asarray(hosts.dictionary_encode().indices, np.int64)
