"""Which host a page belongs to, read off its address."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.compiled import Ints

#: Scheme, two slashes, and all up to the path, the query or the fragment.
_HOST = r"^[A-Za-z][A-Za-z0-9+.\-]*://(?P<host>[^/?#]*)"


def host_numbers(names: pa.Array) -> Ints:
    """Number the pages' hosts from 0; all pages that are no addresses count as one host.

    >>> host_numbers(pa.array(["http://a.org/x", "b", "https://A.org", "c"]))
    array([0, 1, 0, 1])
    """
    if pa.types.is_integer(names.type):
        return np.zeros(len(names), np.int64)
    hosts = pc.utf8_lower(pc.struct_field(pc.extract_regex(names, _HOST), "host"))
    encoded = hosts.fill_null("").dictionary_encode()
    return np.asarray(encoded.indices, np.int64)
