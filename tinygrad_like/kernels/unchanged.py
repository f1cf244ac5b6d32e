"""Compare what Python objects hold with what they held, by addresses."""

from .atomics import get
from .cache import compiled

_COUNT = object.__basicsize__  # offsets of a list's length, and of the address of its items
_ITEMS = _COUNT + 8


@compiled()
def unchanged(found, words):
    """Whether a list has these items, and these places these words.

    words: the number of items, and their addresses, 0 for any; the number of places, and of each its address and word.
    """
    count, items, words = get(words), get(found + _ITEMS), words + 8
    if get(found + _COUNT) != count:
        return 0
    for i in range(count):
        if get(words + 8 * i) != 0 and get(items + 8 * i) != get(words + 8 * i):
            return 0
    words += 8 * count
    for i in range(get(words)):
        if get(get(words + 8 + 16 * i)) != get(words + 16 + 16 * i):
            return 0
    return 1
