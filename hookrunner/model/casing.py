"""Names of modules (`cert-manager`) and their keys in values (`certManager`), each made from the other.

The rules are those of addon-operator, so that its ConfigMaps and values files keep their keys. Which names are
refused, because they do not survive the way there and back, is decided by their readers.
"""

import re

_DELIMITER = re.compile(r"[-_\s]|(?<!\d)\.|\.(?!\d)")
"""What stands between words and is dropped. The point of a number stays: `v1.2`."""

_STARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\d)(?=[^\da-z.])")
"""Where a word begins without a delimiter: `fooBar`, `FOOBar`, after a number."""


def words(name: str) -> list[str]:
    """The words of a name in any spelling, in lower case."""
    return [word.lower() for part in _DELIMITER.split(name) for word in _STARTS.split(part) if word]


def camel(name: str) -> str:
    """`l2-load-balancer` → `l2LoadBalancer`: the key of a module in values."""
    first, *rest = words(name) or [""]
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def kebab(name: str) -> str:
    """`l2LoadBalancer` → `l2-load-balancer`: the name of the module that a key belongs to."""
    return "-".join(words(name))
