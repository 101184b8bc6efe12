"""What hooks ask to be changed in values: who may change what, doing it, and remembering it in few operations.

Values are computed again whenever a lower layer changes, so operations are remembered, not their result. Outside of
lists only the newest operation on a place counts: it replaces the operations on that place and on all below it, and a
change inside a value that hooks have put there is made in that value. What remains are operations on places none of
which lies in another, so their order does not matter. Inside a list that comes from a lower layer an operation may move
the elements that the next one means: those are kept in their order, so that an append stays.

In a changed document an operation may not fit any more. It is skipped and kept: it may fit the next document.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from hookrunner import redaction
from hookrunner.errors import BadValues
from hookrunner.model.modules import ENABLED, GLOBAL
from hookrunner.model.operations import ValuesOperation
from hookrunner.values import pointers
from hookrunner.values.pointers import Draft, Misfit, Pointer
from kubetypes import json_values
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

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
    draft = Draft(document)
    for operation in operations:
        _apply_fitting(draft, operation, key)
    return draft.document


def _apply_fitting(draft: Draft, operation: ValuesOperation, key: str) -> None:
    """Raises BadValues."""
    try:
        _apply(draft, operation, pointers.tokens(operation.path))
    except Misfit as error:
        raise BadValues(key, [f"{operation.op} {operation.path} does not fit: {error}"]) from None


def _apply(draft: Draft, operation: ValuesOperation, pointer: Pointer) -> None:
    """Raises Misfit."""
    if operation.op == "add":
        draft.add(pointer, operation.value)
    elif operation.op == "remove":
        draft.remove(pointer)
    elif not _has(pointers.found(draft.document, pointer), operation.value):
        raise Misfit(f"{operation.path} has another value")


def _has(value: JSON, tested: JSON) -> bool:
    """Whether the values are one as JSON. Python's comparison is first: it ends at the first difference."""
    return value == tested and json_values.equal(value, tested)


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
        draft, memory = Draft(document), _Memory(self)
        for operation in operations:
            _apply_fitting(draft, operation, key)
            if operation.op != "test":
                memory.remember(operation, draft.document)
        if len(memory.in_lists) > MOST_IN_LISTS:
            whole = pointers.text(next(reversed(memory.in_lists.values())).place)
            raise BadValues(
                key, [f"more than {MOST_IN_LISTS:,} changes inside of lists; add {whole} as a whole instead"]
            )
        return draft.document, memory.patches()

    def reapplied(self, document: JSON) -> tuple[JSON, list[str]]:
        """Apply all operations that fit to a document of lower layers; the result, and the problems of the others. A
        `remove` of an absent place is no problem."""
        if not (self.settled or self.in_lists):
            return document, []
        draft, misfits = Draft(document), []
        for operation in self.operations():
            try:
                _apply(draft, operation, pointers.tokens(operation.path))
            except Misfit as error:
                if operation.op != "remove":
                    misfits.append(f"{operation.op} {operation.path}: {error}")
        return draft.document, misfits


class _Memory:
    """Patches that are being put together. Whatever one operation replaces is looked up, and removed once: a hook may
    write a hundred thousand operations."""

    def __init__(self, patches: Patches) -> None:
        self.in_lists: dict[int, InList] = {}
        """By number, in their order."""
        self._settled = dict(patches.settled)
        self._values: dict[Pointer, Draft] = {}
        """The values of added places in which something was changed since."""
        self._inside: dict[Pointer, set[Pointer]] = {}
        """The settled places and the lists inside of each place."""
        self._numbers: dict[Pointer, set[int]] = {}
        """The operations inside each list."""
        self._unmoved: dict[Pointer, dict[Pointer, set[int]]] = {}
        """For each list: the operations at or inside of each place, since its elements last moved."""
        self._count = 0
        for place in self._settled:
            self._note(place)
        for entry in patches.in_lists:
            self._append(entry)

    def patches(self) -> Patches:
        """What is remembered."""
        changed = {place: replace(self._settled[place], value=draft.document) for place, draft in self._values.items()}
        return Patches({**self._settled, **changed}, tuple(self.in_lists.values()))

    def remember(self, operation: ValuesOperation, after: JSON) -> None:
        """Add an operation; `after` is the document to which it was applied."""
        pointer = pointers.tokens(operation.path)
        if self._fold_into_value(pointer, operation):
            return
        depth = pointers.way_to_list(after, pointer)
        if depth is not None:
            moves = isinstance(pointers.found(after, pointer[:-1]), list)
            self._add_in_list(InList(pointer[:depth], pointer, moves, operation))
        else:
            self._drop_inside(pointer)
            self._settled[pointer] = operation
            self._note(pointer)

    def _fold_into_value(self, pointer: Pointer, operation: ValuesOperation) -> bool:
        """Make the change in the value of the remembered `add` that contains the place; False without one."""
        for place in _above(pointer):
            around = self._settled.get(place)
            if around is not None and around.op == "add":
                draft = self._values.setdefault(place, Draft(around.value))
                _apply(draft, operation, pointer[len(place) :])
                return True
        return False

    def _add_in_list(self, new: InList) -> None:
        """Add an operation inside a list. It replaces those on the same place since the list's elements last moved."""
        if not new.moves:
            for number in self._unmoved.get(new.place, {}).pop(new.pointer, ()):
                if self.in_lists.pop(number, None):
                    self._numbers[new.place].discard(number)
        self._append(new)

    def _append(self, new: InList) -> None:
        number = self._count = self._count + 1
        self.in_lists[number] = new
        self._numbers.setdefault(new.place, set()).add(number)
        self._note(new.place)
        if new.moves:
            self._unmoved.pop(new.place, None)
            return
        unmoved = self._unmoved.setdefault(new.place, {})
        for depth in range(len(new.place) + 1, len(new.pointer) + 1):
            unmoved.setdefault(new.pointer[:depth], set()).add(number)

    def _note(self, place: Pointer) -> None:
        for above in _above(place):
            self._inside.setdefault(above, set()).add(place)

    def _drop_inside(self, pointer: Pointer) -> None:
        """Forget what is remembered of a place and of all below it."""
        for place in (pointer, *self._inside.pop(pointer, ())):
            self._settled.pop(place, None)
            self._values.pop(place, None)
            self._unmoved.pop(place, None)
            for number in self._numbers.pop(place, ()):
                del self.in_lists[number]
            for above in _above(place):
                self._inside.get(above, set()).discard(place)


def _above(pointer: Pointer) -> Iterator[Pointer]:
    """The places that contain it, the outermost first."""
    return (pointer[:depth] for depth in range(1, len(pointer)))
