"""What hooks ask to be changed in values: who may change what, doing it, and remembering it in few operations.

Values are computed again whenever a lower layer changes, so operations are remembered, not their result. Outside of
lists only the newest operation on a place counts: it replaces the operations on that place and on all below it, and a
change inside a value that hooks have put there is made in that value. What remains are operations on places none of
which lies in another, so their order does not matter. Inside a list that comes from a lower layer an operation may move
the elements that the next one means: those are kept in their order, so that an append stays.

In a changed document an operation may not fit any more. It is skipped and kept: it may fit the next document.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from hookrunner import redaction
from hookrunner.errors import BadValues
from hookrunner.model.modules import ENABLED, GLOBAL
from hookrunner.model.operations import ValuesOperation
from hookrunner.values import pointers
from hookrunner.values.pointers import Misfit, Pointer
from kubetypes import json_values
from kubetypes.json_values import JSON

_FLAGS = {True: True, False: False, "true": True, "false": False}


def permitted(operations: Iterable[ValuesOperation], key: str) -> None:
    """Raise BadValues if a hook of the section `key` may not do this: change other sections, or remove its own."""
    problems = [problem for operation in operations if (problem := _refusal(operation, key))]
    if problems:
        raise BadValues(key, problems)


def enabled_operations(operations: Iterable[ValuesOperation]) -> list[tuple[str, bool | None]]:
    """The modules that a global hook switches: key, and on, off, or None to withdraw an earlier switch. Raises
    BadValues."""
    return [_switch(operation) for operation in operations if _switches(operation)]


def values_operations(operations: Iterable[ValuesOperation]) -> tuple[ValuesOperation, ...]:
    """All operations except switches of modules."""
    return tuple(operation for operation in operations if not _switches(operation))


def applied(document: JSON, operations: Iterable[ValuesOperation], key: str) -> JSON:
    """The document `{key: …}` after all operations. Raises BadValues naming the first that does not fit."""
    for operation in operations:
        try:
            document = changed(document, operation)
        except Misfit as error:
            raise BadValues(key, [f"{operation.op} {operation.path} does not fit: {error}"]) from None
    return document


def changed(document: JSON, operation: ValuesOperation) -> JSON:
    """The document after one operation. Raises Misfit."""
    pointer = pointers.tokens(operation.path)
    if operation.op == "add":
        return pointers.added(document, pointer, operation.value)
    if operation.op == "remove":
        return pointers.removed(document, pointer)
    if not json_values.equal(pointers.found(document, pointer), operation.value):
        raise Misfit(f"{operation.path} has another value")
    return document


def document_of(operation: ValuesOperation) -> JSON:
    """An operation as JSON, as it stands in a patch file."""
    value = {} if operation.op == "remove" else {"value": operation.value}
    return {"op": operation.op, "path": operation.path, **value}


def shown(operation: ValuesOperation) -> str:
    """An operation for a person, without its value: `add /a/b with a text of 5 characters`."""
    value = "" if operation.op == "remove" else f" with {redaction.described(operation.value)}"
    return f"{operation.op} {operation.path}{value}"


def _refusal(operation: ValuesOperation, key: str) -> str:
    pointer = pointers.tokens(operation.path)
    if pointer[0] == key:
        return _section_problem(operation, key) if len(pointer) == 1 else ""
    if key == GLOBAL and pointer[0].endswith(ENABLED):
        return ""
    only = "only 'global' and '*Enabled' are permitted" if key == GLOBAL else f"only '{key}' accepted"
    return f"unacceptable patch operation for path '{pointer[0]}' ({only}): {shown(operation)}"


def _section_problem(operation: ValuesOperation, key: str) -> str:
    """The problem of an operation on the whole section, "" without one."""
    if operation.op == "remove":
        return f"the whole section cannot be removed: {shown(operation)}; add /{key} with {{}} empties it"
    if operation.op == "add" and not isinstance(operation.value, dict):
        return f"a section is a map: {shown(operation)}"
    return ""


def _switches(operation: ValuesOperation) -> bool:
    return pointers.tokens(operation.path)[0].endswith(ENABLED)


def _switch(operation: ValuesOperation) -> tuple[str, bool | None]:
    root, *rest = pointers.tokens(operation.path)
    module = root.removesuffix(ENABLED)
    if operation.op == "remove" and not rest:
        return module, None
    flag = _FLAGS.get(operation.value) if isinstance(operation.value, bool | str) else None
    if operation.op == "test" or rest or flag is None:
        raise BadValues(GLOBAL, [f"a module is switched by true or false: {shown(operation)}"])
    return module, flag


MOST_IN_LISTS = 10_000
"""Most operations that are remembered inside lists of lower layers: only these never replace each other."""


@dataclass(frozen=True, slots=True)
class InList:
    """An operation inside the list at `place`. `moves` says that it inserts or removes an element."""

    place: Pointer
    pointer: Pointer
    moves: bool
    operation: ValuesOperation


@dataclass(frozen=True, slots=True)
class Patches:
    """The operations that one section's hooks have asked for, compacted. `settled` are those outside of lists."""

    settled: Mapping[Pointer, ValuesOperation] = field(default_factory=dict)
    in_lists: tuple[InList, ...] = ()

    def operations(self) -> tuple[ValuesOperation, ...]:
        """In an order in which they may be applied."""
        by_path = sorted(self.settled.values(), key=lambda operation: operation.path)
        return (*by_path, *(entry.operation for entry in self.in_lists))

    def places(self) -> Iterable[Pointer]:
        """The places that they have set or removed; a list counts as a whole."""
        return (*self.settled, *(entry.place for entry in self.in_lists))

    def then(self, document: JSON, operations: Iterable[ValuesOperation], key: str) -> tuple[JSON, "Patches"]:
        """Apply further operations and remember them. `document` is the result of the operations remembered so far.
        Raises BadValues if an operation does not fit."""
        draft = _Draft(dict(self.settled), list(self.in_lists))
        for operation in operations:
            before, document = document, applied(document, (operation,), key)
            if operation.op != "test":
                draft.remember(operation, before)
        if len(draft.in_lists) > MOST_IN_LISTS:
            whole = pointers.text(draft.in_lists[-1].place)
            raise BadValues(
                key, [f"more than {MOST_IN_LISTS:,} changes inside of lists; add {whole} as a whole instead"]
            )
        return document, Patches(draft.settled, tuple(draft.in_lists))

    def reapplied(self, document: JSON) -> tuple[JSON, list[str]]:
        """Apply all operations that fit to a document of lower layers; the result, and the problems of the others. A
        `remove` of an absent place is no problem."""
        misfits = []
        for operation in self.operations():
            try:
                document = changed(document, operation)
            except Misfit as error:
                if operation.op != "remove":
                    misfits.append(f"{operation.op} {operation.path}: {error}")
        return document, misfits


class _Draft:
    """Patches that are being put together."""

    def __init__(self, settled: dict[Pointer, ValuesOperation], in_lists: list[InList]) -> None:
        self.settled = settled
        self.in_lists = in_lists
        self._above = {above for place in settled for above in _above(place)}
        self._above.update(above for entry in in_lists for above in _above(entry.pointer))

    def remember(self, operation: ValuesOperation, before: JSON) -> None:
        """Add an operation; `before` is the document to which it was applied."""
        pointer = pointers.tokens(operation.path)
        if self._fold_into_value(pointer, operation):
            return
        depth = pointers.way_to_list(before, pointer)
        if depth is not None:
            moves = isinstance(pointers.found(before, pointer[:-1]), list)
            self._add_in_list(InList(pointer[:depth], pointer, moves, operation))
        else:
            if pointer in self._above:
                self._drop_below(pointer)
            self.settled[pointer] = operation
        self._above.update(_above(pointer))

    def _fold_into_value(self, pointer: Pointer, operation: ValuesOperation) -> bool:
        """Make the change in the value of the remembered `add` that contains the place; False without one."""
        for place in _above(pointer):
            around = self.settled.get(place)
            if around is not None and around.op == "add":
                inner = replace(operation, path=pointers.text(pointer[len(place) :]))
                self.settled[place] = replace(around, value=changed(around.value, inner))
                return True
        return False

    def _add_in_list(self, new: InList) -> None:
        """Add an operation inside a list. It replaces those on the same place since the list's elements last moved."""
        if not new.moves:
            moves = [
                number for number, entry in enumerate(self.in_lists, 1) if entry.moves and entry.place == new.place
            ]
            start = max(moves, default=0)
            stay = [entry for entry in self.in_lists[start:] if not _below(entry.pointer, new.pointer)]
            self.in_lists[start:] = stay
        self.in_lists.append(new)

    def _drop_below(self, pointer: Pointer) -> None:
        self.settled = {place: entry for place, entry in self.settled.items() if not _below(place, pointer)}
        self.in_lists = [entry for entry in self.in_lists if not _below(entry.place, pointer)]


def _above(pointer: Pointer) -> Iterator[Pointer]:
    """The places that contain it, the outermost first."""
    return (pointer[:depth] for depth in range(1, len(pointer)))


def _below(place: Pointer, pointer: Pointer) -> bool:
    """Is `place` the same as `pointer`, or inside of it?"""
    return place[: len(pointer)] == pointer
