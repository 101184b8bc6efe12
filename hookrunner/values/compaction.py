"""What hooks have patched, remembered as few operations that mean the same as all of them in a row.

Values are computed again whenever a lower layer changes, so what is remembered are operations, not their result.
Outside of lists only the newest word about a place counts: it replaces what was said of the place and of all below it,
and a change inside a value that hooks have put there is made in that value. What remains are operations on places none
of which lies in another, so their order is no matter. Inside a list that comes from a lower layer an operation may move
the elements that the next one means: those are kept in their order, so that an append stays (addon-operator.md §13.10).

In a changed document an operation may not fit any more. It is passed over and kept: it may fit the next document.
"""

from collections.abc import Iterable, Iterator, Mapping
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
        draft = _Draft(dict(self.settled), list(self.in_lists))
        for operation in operations:
            before, document = document, patches.applied(document, (operation,), key)
            if operation.op != "test":
                draft.remember(operation, before)
        if len(draft.in_lists) > MOST_IN_LISTS:
            whole = pointers.text(draft.in_lists[-1].place)
            raise BadValues(
                key, [f"more than {MOST_IN_LISTS:,} changes inside of lists; add {whole} as a whole instead"]
            )
        return document, Patches(draft.settled, tuple(draft.in_lists))

    def again(self, document: JSON) -> tuple[JSON, list[str]]:
        """A document of lower layers with all operations done that fit, and what was wrong with the others. That
        something to be removed is not there is no fault."""
        misfits = []
        for operation in self.operations():
            try:
                document = patches.changed(document, operation)
            except Misfit as error:
                if operation.op != "remove":
                    misfits.append(f"{operation.op} {operation.path}: {error}")
        return document, misfits


class _Draft:
    """Patches in the making."""

    def __init__(self, settled: dict[Pointer, PatchOperation], in_lists: list[InList]) -> None:
        self.settled = settled
        self.in_lists = in_lists
        self._above = {above for place in settled for above in _above(place)}
        self._above.update(above for one in in_lists for above in _above(one.pointer))

    def remember(self, operation: PatchOperation, before: JSON) -> None:
        """Adds an operation; `before` is the document that it was done to."""
        pointer = pointers.tokens(operation.path)
        if self._done_in_a_value(pointer, operation):
            return
        depth = pointers.way_to_list(before, pointer)
        if depth is not None:
            moves = isinstance(pointers.found(before, pointer[:-1]), list)
            self._follow(InList(pointer[:depth], pointer, moves, operation))
        else:
            if pointer in self._above:
                self._drop_below(pointer)
            self.settled[pointer] = operation
        self._above.update(_above(pointer))

    def _done_in_a_value(self, pointer: Pointer, operation: PatchOperation) -> bool:
        """Makes the change in the value of a remembered `add` that it lies in, if there is one."""
        for place in _above(pointer):
            around = self.settled.get(place)
            if around is not None and around.op == "add":
                inner = replace(operation, path=pointers.text(pointer[len(place) :]))
                self.settled[place] = replace(around, value=patches.changed(around.value, inner))
                return True
        return False

    def _follow(self, new: InList) -> None:
        """What was said of the place since the elements of its list last moved is replaced."""
        if not new.moves:
            moves = [number for number, one in enumerate(self.in_lists, 1) if one.moves and one.place == new.place]
            start = max(moves, default=0)
            stay = [one for one in self.in_lists[start:] if not _below(one.pointer, new.pointer)]
            self.in_lists[start:] = stay
        self.in_lists.append(new)

    def _drop_below(self, pointer: Pointer) -> None:
        self.settled = {place: one for place, one in self.settled.items() if not _below(place, pointer)}
        self.in_lists = [one for one in self.in_lists if not _below(one.place, pointer)]


def _above(pointer: Pointer) -> Iterator[Pointer]:
    """The places that it lies in, the outermost first."""
    return (pointer[:depth] for depth in range(1, len(pointer)))


def _below(place: Pointer, pointer: Pointer) -> bool:
    """Is it the same place, or inside of it?"""
    return place[: len(pointer)] == pointer
