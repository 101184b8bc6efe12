"""What a Secret has set is not to stand in messages, which end in logs and Events (issue 6 §1).

Messages of schemas, of Helm and of the API server may repeat a value that they do not like. So whatever is said where
values of a Secret took part is searched for them. What is shorter than four characters is no secret, and would make
holes into every other word.
"""

import re
from collections.abc import Iterable, Iterator
from functools import reduce

from hookrunner.model.resources import JSON

MASK = "***"

_SHORTEST = 4
_TOKENS = re.compile(r"""[^\s"':,\[\]{}&*!]+""")


def words(secret: JSON) -> frozenset[str]:
    """Texts and numbers anywhere in a value, and the lines of texts."""
    return frozenset(word for leaf in _leaves(secret) for word in (leaf, *leaf.split("\n")) if len(word) >= _SHORTEST)


def tokens(text: str) -> frozenset[str]:
    """What may be values in a text that is not read yet, or cannot be."""
    return frozenset(word for word in _TOKENS.findall(text) if len(word) >= _SHORTEST)


def masked(message: str, hidden: Iterable[str]) -> str:
    """The message without any of these; the longest first, since one may be in another."""
    return reduce(lambda text, word: text.replace(word, MASK), sorted(hidden, key=len, reverse=True), message)


def _leaves(value: JSON) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)
    elif not isinstance(value, bool | None):
        yield str(value)
