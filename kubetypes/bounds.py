"""How large a YAML or JSON document from outside may be: one table for every reader of such texts.

A few kilobytes of YAML can stand for gigabytes, by aliases, and a megabyte of brackets becomes a hundred megabytes of
values. So a reader counts bytes and values while it reads, those that an alias (`*name`) stands for as often as they
stand there, and refuses what exceeds a bound before the memory is taken. `yaml_values.py` and `json_values.py` do the
counting. No message quotes the document.
"""

from kubetypes.light_dataclasses import dataclass

_UNITS = (("MiB", 1 << 20), ("KiB", 1 << 10))


@dataclass(frozen=True, slots=True)
class DocumentBounds:
    """Bounds of one text, however many documents it has. `size` is in bytes; `values` are maps, lists, texts, numbers,
    true, false and null; `what` says for whom the bounds are, in a message and in `docs/settings.md`."""

    what: str
    size: int
    values: int


DEPTH = 230
"""Maps and lists in one another. `orjson` writes no more than 254, and documents are put into others. The sandbox takes
less of an object (`kubesandbox/verbs/bodies.py`)."""
DIGITS = 1000
"""Characters of a number that is not in quotes."""

SECTIONS = DocumentBounds("all sections of a ConfigMap or Secret with values", 4 << 20, 25_000)
"""Written by users who may edit the ConfigMap. A ConfigMap holds 1 MiB; the rest is for aliases. So many values are
compared with their schema in less than 0.1 s, which is done in the event loop."""
INSTANCE = DocumentBounds("the spec of an instance of an addon, without its patches", 1 << 20, 5_000)
"""Written by users who may create instances; compared with its schema several times."""
DOCUMENT = DocumentBounds("one file or answer: of a hook, a module, a chart, a user, a client", 64 << 20, 2_000_000)
"""Patches and manifests of 10,000 objects fit well."""
CONFIG = DocumentBounds("the configuration that a hook prints", 1 << 20, 20_000)
"""Read in the event loop when hooks are loaded."""
OBJECT = DocumentBounds("one object or patch that a client sends to the sandbox", 3 << 20, 200_000)
"""A real API server takes as many bytes, and validates a million empty containers in them with patience."""
PACKAGE_TEXT = DocumentBounds("a channel, or the package.yaml of a package", 1 << 20, 12_000)
"""Read in the event loop, and perhaps written by a stranger: this takes a tenth of a second at most."""
RELEASE_RECORD = DocumentBounds("the record of a release, unpacked; its manifest is one value", 64 << 20, 200_000)
"""Written by Helm, too: values, metadata and templates of a chart are some thousands."""
RENDERED = DocumentBounds("the objects that the templates of a chart render", 32 << 20, 500_000)
"""Of more than that no record of a release could be written, which is 1 MiB, packed."""
EVERY = (SECTIONS, INSTANCE, CONFIG, DOCUMENT, OBJECT, PACKAGE_TEXT, RELEASE_RECORD, RENDERED)


class TooLarge(ValueError):
    """A document exceeds a bound. The message is one line: which bound, and what to do."""


class Tally:
    """What has been read of one text, or of several that share a bound."""

    __slots__ = ("_bounds", "most", "size", "values")

    def __init__(self, bounds: DocumentBounds) -> None:
        self._bounds = bounds
        self.most = bounds.values
        self.size = 0
        self.values = 0

    def add(self, size: int, values: int) -> None:
        """Count bytes and values. Raises TooLarge."""
        self.size += size
        self.values += values
        if excess := self.excess():
            raise TooLarge(excess)

    def restore(self, size: int, values: int) -> None:
        """Take back to these counts: what was counted since was refused."""
        self.size, self.values = size, values

    def excess(self) -> str:
        """Which bound is exceeded, and what to do; empty if none is."""
        if self.size > self._bounds.size:
            return f"more than {in_units(self._bounds.size)}, aliases (`*name`) written out; {_MEND}"
        if self.values > self.most:
            return f"more than {self.most:,} values, aliases (`*name`) written out; {_MEND}"
        return ""


_MEND = "make it smaller or divide it"
TOO_DEEP = f"nested too deep: more than {DEPTH} maps and lists in one another; make it flatter"
TOO_MANY_DIGITS = f"a number of more than {DIGITS:,} characters; quote it if it is meant as text"


def in_units(size: int) -> str:
    """`4 MiB`."""
    return next((f"{size // unit:,} {name}" for name, unit in _UNITS if size % unit == 0), f"{size:,} bytes")
