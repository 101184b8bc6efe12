"""What hooks ask to be changed in values: who may change what, and doing it.

Source: addon-operator.md §2.5, §13.11. How operations are remembered is decided in `compaction`.
"""

from collections.abc import Iterable

import orjson

from hookrunner import redaction
from hookrunner.errors import BadValues
from hookrunner.model.resources import JSON
from hookrunner.model.values import ENABLED, GLOBAL, PatchOperation
from hookrunner.values import pointers
from hookrunner.values.pointers import Misfit

_FLAGS = {True: True, False: False, "true": True, "false": False}


def permitted(operations: Iterable[PatchOperation], key: str) -> None:
    """Raises BadValues if a hook of the section `key` may not ask for this: other sections, the whole section away."""
    problems = [problem for operation in operations if (problem := _refusal(operation, key))]
    if problems:
        raise BadValues(key, problems)


def enabled_operations(operations: Iterable[PatchOperation]) -> list[tuple[str, bool | None]]:
    """What a global hook says of modules: their keys, and on, off, or None if it takes back what it said. Raises
    BadValues."""
    return [_switch(operation) for operation in operations if _switches(operation)]


def values_operations(operations: Iterable[PatchOperation]) -> tuple[PatchOperation, ...]:
    """All operations but those."""
    return tuple(operation for operation in operations if not _switches(operation))


def applied(document: JSON, operations: Iterable[PatchOperation], key: str) -> JSON:
    """The document `{key: …}` after all operations. Raises BadValues naming the first that does not fit."""
    for operation in operations:
        try:
            document = changed(document, operation)
        except Misfit as error:
            raise BadValues(key, [f"{operation.op} {operation.path} does not fit: {error}"]) from None
    return document


def changed(document: JSON, operation: PatchOperation) -> JSON:
    """The document after one operation. Raises Misfit."""
    pointer = pointers.tokens(operation.path)
    if operation.op == "add":
        return pointers.added(document, pointer, operation.value)
    if operation.op == "remove":
        return pointers.removed(document, pointer)
    if not same(pointers.found(document, pointer), operation.value):
        raise Misfit(f"{operation.path} has another value")
    return document


def same(one: JSON, other: JSON) -> bool:
    """Are they one JSON value? (For Python `true` is 1.)"""
    return one is other or orjson.dumps(one, option=orjson.OPT_SORT_KEYS) == orjson.dumps(
        other, option=orjson.OPT_SORT_KEYS
    )


def document_of(operation: PatchOperation) -> JSON:
    """An operation as JSON, as it stands in a patch file."""
    value = {} if operation.op == "remove" else {"value": operation.value}
    return {"op": operation.op, "path": operation.path, **value}


def shown(operation: PatchOperation) -> str:
    """An operation for a person, without its value: `add /a/b with a text of 5 characters`."""
    value = "" if operation.op == "remove" else f" with {redaction.described(operation.value)}"
    return f"{operation.op} {operation.path}{value}"


def _refusal(operation: PatchOperation, key: str) -> str:
    pointer = pointers.tokens(operation.path)
    if pointer[0] == key:
        return _of_whole(operation, key) if len(pointer) == 1 else ""
    if key == GLOBAL and pointer[0].endswith(ENABLED):
        return ""
    only = "only 'global' and '*Enabled' are permitted" if key == GLOBAL else f"only '{key}' accepted"
    return f"unacceptable patch operation for path '{pointer[0]}' ({only}): {shown(operation)}"


def _of_whole(operation: PatchOperation, key: str) -> str:
    """What is wrong with an operation on the whole section."""
    if operation.op == "remove":
        return f"the whole section cannot be removed: {shown(operation)}; add /{key} with {{}} empties it"
    if operation.op == "add" and not isinstance(operation.value, dict):
        return f"a section is a map: {shown(operation)}"
    return ""


def _switches(operation: PatchOperation) -> bool:
    return pointers.tokens(operation.path)[0].endswith(ENABLED)


def _switch(operation: PatchOperation) -> tuple[str, bool | None]:
    root, *rest = pointers.tokens(operation.path)
    module = root.removesuffix(ENABLED)
    if operation.op == "remove" and not rest:
        return module, None
    flag = _FLAGS.get(operation.value) if isinstance(operation.value, bool | str) else None
    if operation.op == "test" or rest or flag is None:
        raise BadValues(GLOBAL, [f"a module is switched by true or false: {shown(operation)}"])
    return module, flag
