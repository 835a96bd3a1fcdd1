"""Hostile inputs for the fuzzer: mutated documents, odd values and extreme numbers."""

import io
import math
import random
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

_NUMBER = re.compile(rb"\d+")
#: Pieces that parsers of text stumble over.
_ODD = [
    *(b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc0\xaf", b"\r", b"\n\n"),
    *(b'"', b"'", b",", b";", b"\t", b"%", b"%zz", b"%00", b"#", b"?", b"&", b"=", b"\\", b"/../"),
    *(
        b"<",
        b">",
        b"<!--",
        b"]]>",
        b"<![CDATA[",
        b"&#0;",
        b"&#x110000;",
        b"<!DOCTYPE a [",
        b"\x1b[",
    ),
    *("\u202e".encode(), "\u0130".encode(), "ß".encode(), "\u2028".encode(), "💥".encode()),
    *(b"nan", b"inf", b"-inf", b"1e400", b"-0", b"1e-400", b"9" * 25, b"0x7f", b"1_000", b"NaT"),
    *(b"true", b"null", b"[", b"{", b"=\n", b"[[", b"''' ", b"http://", b"//", b"@", b"[::1]"),
]
#: Numbers at and beyond the ends of types and of calendars.
EXTREMES = [
    *(0, -0.0, 1, -1, 0.5, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1, 10**30),
    *(math.nan, math.inf, -math.inf, 5e-324, 1e-300, 1e-60, 1e60, 1e120, 1e300, 1.7e308, 10**400),
    *(253402300799, 253402300800, -62135596801, 86400, 1767225600),
]


def mutated(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return one of the documents, changed in a few places."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((0, 1, 1, 2, 3, 5, 9))):
        _mutate(rng, data, seeds)
    return bytes(data[:50_000])


def _mutate(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    at = rng.randrange(len(data) + 1)
    end = min(at + rng.choice((1, 2, 8, 64)), len(data))
    kind = rng.randrange(8)
    if kind == 0 and at < len(data):
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 1 and at < len(data):
        data[at] = rng.randrange(256)
    elif kind == 2:
        data[at:at] = rng.choice(_ODD)
    elif kind == 3:
        del data[at:end]
    elif kind == 4:
        data[at:at] = data[at:end] * rng.choice((1, 2, 50))
    elif kind == 5:
        del data[at:]
    elif kind == 6:
        other = rng.choice(seeds)
        data[at:end] = other[rng.randrange(len(other) + 1) :][:200]
    elif found := list(_NUMBER.finditer(bytes(data))):
        number = rng.choice(found)
        data[number.start() : number.end()] = str(_short(rng.choice(EXTREMES))).encode()


def _short(number: float) -> float | str:
    return number if abs(number) < 10**40 or not isinstance(number, int) else "9" * 400


def text(rng: random.Random, seeds: Sequence[str]) -> str:
    """Return a mutated text; some bytes that are not UTF-8 become lone surrogates."""
    how = rng.choice(("replace", "surrogateescape"))
    return mutated(rng, [seed.encode() for seed in seeds]).decode(errors=how)


def value(rng: random.Random) -> Any:  # noqa: ANN401 - anything at all
    """Return a value of any type that a caller may pass."""
    others = [
        *(None, True, False, "4/day", "6h", "4", "", "a", b"4", 1 + 2j, [], {}, (), [1], "nan"),
        *(timedelta(hours=6), timedelta.max, datetime(2026, 1, 1, tzinfo=UTC), date(2026, 1, 1)),
        *(np.timedelta64(6, "h"), np.timedelta64("NaT"), np.timedelta64(1, "Y"), np.float32(2)),
        *(np.datetime64("2026-01-01"), Decimal("1.5"), Decimal("NaN"), Fraction(1, 3), object()),
        *(np.array(2.0), np.array([1.0]), np.uint64(2**64 - 1), pa.scalar(3), pa.array([1, None])),
    ]
    return rng.choice(others) if rng.random() < 0.5 else rng.choice(EXTREMES)


def positive(rng: random.Random) -> float:
    """Return a positive number, most often a sensible one."""
    return math.pow(
        10.0, rng.choice((rng.gauss(0.0, 1.0), rng.uniform(-12, 12), rng.uniform(-60, 60)))
    )


def column(rng: random.Random, rows: int) -> Any:  # noqa: ANN401
    """Return a column of positive numbers, or now and then of anything."""
    kind = rng.randrange(10)
    if kind < 6:
        scale = positive(rng)
        return np.clip([scale * rng.expovariate(1.0) for _ in range(rows)], 1e-60, 1e60)
    if kind == 6:
        return [positive(rng) for _ in range(rows)]
    if kind == 7:
        return np.array([rng.randrange(-5, 10**9) for _ in range(rows)], "m8[s]")
    if kind == 8:
        return [value(rng) for _ in range(rows)]
    return value(rng)


def flags(rng: random.Random, rows: int) -> Any:  # noqa: ANN401
    """Return a column of yes and no, or now and then of anything."""
    if rng.random() < 0.1:
        return [value(rng) for _ in range(rows)]
    share = rng.choice((0.0, 0.1, 0.5, 0.9, 1.0))
    return [rng.random() < share for _ in range(rows)]


def in_parquet(columns: dict[str, Any], **options: Any) -> bytes:  # noqa: ANN401
    """Return a table as the bytes of a Parquet file."""
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file, **options)
    return file.getvalue()


def odd_array(rng: random.Random) -> pa.Array:
    """Return three cells of a type, and with values, that no log should have."""
    whole = pa.array([rng.randrange(-(2**63), 2**63), 0, None], pa.int64())
    broken = pa.array([b"\xff\xfe", b"a", bytes([rng.randrange(256)])])
    choices = [
        whole,
        pa.array([2**64 - 1, 2**63, 1], pa.uint64()),
        pa.array([Decimal(10) ** 37, Decimal(1), None], pa.decimal128(38, 0)),
        pa.array([Decimal(10) ** 75, Decimal(1), None], pa.decimal256(76, 0)),
        *(whole.cast(pa.timestamp(unit)) for unit in ("ms", "us", "ns")),
        whole.cast(pa.timestamp("us", "Europe/Berlin")),
        pa.array([2**31 - 1, -(2**31), 0], pa.int32()).cast(pa.date32()),
        *(whole.cast(pa.duration("us")), pa.array([1, 2, None], pa.time64("us"))),
        *(broken, pa.Array.from_buffers(pa.string(), 3, broken.buffers())),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", "b"])),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([2**63 - 1, 0])),
        *(pa.array([1.5, math.nan, None], kind) for kind in (pa.float16(), pa.float32())),
        *(pa.array([math.inf, -1e308, 5e-324]), pa.nulls(3), pa.array([True, None, False])),
        *(pa.array([[1], [], None]), pa.array([{"a": 1}, {"a": None}, None])),
        pa.array([mutated(rng, [b"2026-01-01T00:00:00Z", b"1", b"0.5"]) for _ in range(3)]),
    ]
    return rng.choice(choices)
