"""What hooks have patched, remembered as few operations that mean the same as all of them in a row.

Values are computed again whenever a lower layer changes, so what is remembered are operations, not their result.
Outside of lists only the newest word about a place counts: it replaces what was said of the place and of all below it,
and a change inside a value that hooks have put there is made in that value. What remains are operations on places none
of which lies in another, so their order is no matter. Inside a list that comes from a lower layer an operation may move
the elements that the next one means: those are kept in their order, so that an append stays (addon-operator.md §13.10).

In a changed document an operation may not fit any more. It is passed over and kept: it may fit the next document.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from hookrunner.errors import BadValues
from hookrunner.model.resources import JSON
from hookrunner.model.values import PatchOperation
from hookrunner.values import patches, pointers
from hookrunner.values.pointers import Misfit, Pointer

MOST_IN_LISTS = 10_000
"""Operations that are remembered inside lists of lower layers: these alone never replace each other."""


@dataclass(frozen=True, slots=True)
class InList:
    """An operation inside the list at `place`. `moves` says that it puts an element in or takes one out."""

    place: Pointer
    pointer: Pointer
    moves: bool
    operation: PatchOperation


@dataclass(frozen=True, slots=True)
class Patches:
    """The operations that one section's hooks have asked for, compacted. `settled` are those outside of lists."""

    settled: Mapping[Pointer, PatchOperation] = field(default_factory=dict)
    in_lists: tuple[InList, ...] = ()

    def operations(self) -> tuple[PatchOperation, ...]:
        """In an order in which they may be applied."""
        by_path = sorted(self.settled.values(), key=lambda operation: operation.path)
        return (*by_path, *(one.operation for one in self.in_lists))

    def places(self) -> Iterable[Pointer]:
        """Where they have set or removed something; a list counts as a whole."""
        return (*self.settled, *(one.place for one in self.in_lists))

    def then(self, document: JSON, operations: Iterable[PatchOperation], key: str) -> tuple[JSON, "Patches"]:
        """The document with these and all further operations done, and all of them remembered. `document` is what
        these have made. Raises BadValues if one does not fit."""
        settled, in_lists = dict(self.settled), list(self.in_lists)
        for operation in operations:
            pointer = pointers.tokens(operation.path)
            before, document = document, patches.applied(document, (operation,), key)
            if operation.op == "test" or _done_in_a_value(settled, pointer, operation):
                continue
            depth = pointers.way_to_list(before, pointer)
            if depth is None:
                settled = {place: one for place, one in settled.items() if not _below(place, pointer)}
                in_lists = [one for one in in_lists if not _below(one.place, pointer)]
                settled[pointer] = operation
            else:
                moves = isinstance(pointers.found(before, pointer[:-1]), list)
                _follow(in_lists, InList(pointer[:depth], pointer, moves, operation))
        if len(in_lists) > MOST_IN_LISTS:
            whole = pointers.text(in_lists[-1].place)
            raise BadValues(
                key, [f"more than {MOST_IN_LISTS:,} changes inside of lists; add {whole} as a whole instead"]
            )
        return document, Patches(settled, tuple(in_lists))

    def again(self, document: JSON) -> tuple[JSON, list[str]]:
        """A document of lower layers with all operations done that fit, and what was wrong with the others. That
        something to be removed is not there is no fault."""
        misfits = []
        for operation in self.operations():
            try:
                document = patches.changed(document, operation)
            except Misfit as error:
                if operation.op != "remove":
                    misfits.append(f"{patches.shown(operation)}: {error}")
        return document, misfits


def _below(place: Pointer, pointer: Pointer) -> bool:
    """Is it the same place, or inside of it?"""
    return place[: len(pointer)] == pointer


def _follow(in_lists: list[InList], new: InList) -> None:
    """Adds an operation, which replaces what was said of its place since the elements of its list last moved."""
    if not new.moves:
        moves = [number for number, one in enumerate(in_lists, 1) if one.moves and one.place == new.place]
        start = max(moves, default=0)
        in_lists[start:] = [one for one in in_lists[start:] if not _below(one.pointer, new.pointer)]
    in_lists.append(new)


def _done_in_a_value(settled: dict[Pointer, PatchOperation], pointer: Pointer, operation: PatchOperation) -> bool:
    """Makes the change in the value of a remembered `add` that it lies in, if there is one."""
    for depth in range(1, len(pointer)):
        around = settled.get(pointer[:depth])
        if around is not None and around.op == "add":
            inner = replace(operation, path=pointers.text(pointer[depth:]))
            settled[pointer[:depth]] = replace(around, value=patches.changed(around.value, inner))
            return True
    return False
