"""What all models of the API share: kinds of fields, and strict bodies.

Times are ISO 8601 in UTC, rates per day, delays in seconds.
"""

import math
import re
from datetime import UTC, datetime
from functools import cache
from types import UnionType
from typing import Annotated, Union, get_args, get_origin

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StrictBool, model_validator

MAX_URL = 8_192
#: Pages that may be named in one request.
MAX_PAGES = 5_000
MAX_IMPORTANCE = 1e12
#: What a field may be expected to be.
NUMBER, TIME = "a number", "a time such as 2026-01-31T12:00:00Z"
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]", re.ASCII)


def utc(microseconds: int) -> datetime:
    """Return a time as the API shows it.

    >>> utc(0).isoformat()
    '1970-01-01T00:00:00+00:00'
    """
    return datetime.fromtimestamp(microseconds / 1e6, UTC)


def when(microseconds: int | None) -> datetime | None:
    """Return a time as the API shows it, None if there is none."""
    return None if microseconds is None else utc(microseconds)


def finite(number: float | None) -> float | None:
    """Return a number that JSON knows, None for others."""
    return None if number is None or not math.isfinite(number) else number


Flag = StrictBool
Url = Annotated[str, Field(min_length=1, max_length=MAX_URL, description="Its URL.")]
Importance = Annotated[
    float,
    Field(
        ge=0.0,
        le=MAX_IMPORTANCE,
        allow_inf_nan=False,
        description="How much its freshness counts.",
    ),
]


class Body(BaseModel):
    """A request's body; an unknown field is an error, as it may be misspelt."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _is_as_described(cls, given: object) -> object:
        """Refuse what would be converted, such as text for a number: it may be a mistake."""
        if isinstance(given, dict):
            kinds = _kinds_of(cls)
            for name, value in given.items():
                kind = kinds.get(name, "")
                # A number where one belongs, as most are, is as described.
                if type(value) is not int or kind != NUMBER:
                    _check(name, kind, value)
        return given


def _check(name: str, kind: str, value: object) -> None:
    if isinstance(value, str):
        if kind == NUMBER or (kind == TIME and _TIME.match(value) is None):
            raise ValueError(f"{name}: expected {kind}")
        if not value.isascii():
            value.encode()  # A lone surrogate is a ValueError.
    elif isinstance(value, list):
        # What is in it besides text is checked by its own model.
        for one in value:
            if isinstance(one, str) and not one.isascii():
                one.encode()
    elif kind and value is not None and (kind == TIME or isinstance(value, bool)):
        raise ValueError(f"{name}: expected {kind}")


@cache
def _kinds_of(model: type[BaseModel]) -> dict[str, str]:
    """Return which fields of a model are numbers, and which are times."""
    kinds = {name: _kinds(field.annotation) for name, field in model.model_fields.items()}
    times = {name: TIME for name, found in kinds.items() if found & {datetime, AwareDatetime}}
    return times | {name: NUMBER for name, found in kinds.items() if found & {int, float}}


def _kinds(annotation: object) -> set[object]:
    """Return the types that an annotation allows.

    >>> sorted(kind.__name__ for kind in _kinds(Importance | None))
    ['NoneType', 'float']
    """
    if get_origin(annotation) is Annotated:
        return _kinds(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        return {kind for part in get_args(annotation) for kind in _kinds(part)}
    return {annotation}
