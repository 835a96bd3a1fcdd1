"""Cache functions of strings, as versions of a page, and pages of a site, share most strings.

Unlike `functools.lru_cache`, it limits the number of letters: a hostile page could fill the memory
with a few thousand long strings.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

#: The maximum number of letters in the cache, and in one string.
_MAX_LETTERS, _MAX_LENGTH = 1_000_000, 2_000
#: The overhead of a string, in letters.
_OVERHEAD = 100

_Value = TypeVar("_Value")


class Remembered(dict[str, _Value], Generic[_Value]):
    """The cached results of a function of strings.

    >>> lengths = Remembered(len)
    >>> lengths["soup"], dict(lengths)
    (4, {'soup': 4})
    """

    def __init__(self, function: Callable[[str], _Value]) -> None:
        self._function = function
        self._letters = 0

    def __missing__(self, text: str) -> _Value:
        value = self._function(text)
        if len(text) <= _MAX_LENGTH:
            self._letters += len(text) + _OVERHEAD
            if self._letters > _MAX_LETTERS:
                self.clear()
                self._letters = len(text) + _OVERHEAD
            self[text] = value
        return value
