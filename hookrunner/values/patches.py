"""What hooks ask to be changed in values: patch files as operations, who may change what, and doing it.

Source: addon-operator.md §2.5, §13.11. How operations are remembered is decided in `compaction`.
"""

import json
import re
from collections.abc import Iterable, Iterator

import orjson

from hookrunner.errors import BadOutput, BadValues
from hookrunner.model.resources import JSON
from hookrunner.model.values import GLOBAL, PatchOperation
from hookrunner.values import pointers
from hookrunner.values.pointers import Misfit

ENABLED = "Enabled"
"""What a key ends with that switches a module on or off."""

_MOST_SHOWN = 200
_KNOWN = ("add", "remove", "test")
_SPACE = re.compile(r"\s*")
_FLAGS = {True: True, False: False, "true": True, "false": False}


def parse(text: bytes) -> tuple[PatchOperation, ...]:
    """The operations of a patch file: a stream of JSON, each an operation or a list of them. Other values in the
    stream are ignored. Raises BadOutput."""
    operations: list[PatchOperation] = []
    for document in _stream(text):
        for item in document if isinstance(document, list) else [document]:
            if isinstance(document, list) or isinstance(item, dict):
                operations.append(_operation(item))
    return tuple(operations)


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


def _shown(operation: JSON) -> str:
    """An operation for a person, without much of its value."""
    text = orjson.dumps(operation).decode()
    return f"'{text}'" if len(text) <= _MOST_SHOWN else f"'{text[:_MOST_SHOWN]}…'"


def _stream(text: bytes) -> Iterator[JSON]:
    """The standard library finds where each value ends; what it is says orjson, as everywhere."""
    try:
        yield orjson.loads(text)
        return
    except orjson.JSONDecodeError:
        rest = text.removeprefix(b"\xef\xbb\xbf")
    try:
        whole = rest.decode()
        scan, place = json.JSONDecoder().raw_decode, _after_space(whole, 0)
        while place < len(whole):
            end = scan(whole, place)[1]
            yield orjson.loads(whole[place:end])
            place = _after_space(whole, end)
    except RecursionError:
        raise BadOutput("the patch of values is nested too deep") from None
    except ValueError as error:
        raise BadOutput(f"the patch of values is not JSON: {error}") from None


def _after_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _operation(item: JSON) -> PatchOperation:
    """Keys in any case: that is how the predecessor reads them."""
    if not isinstance(item, dict):
        raise BadOutput(f"a patch of values is made of objects with op and path, not of {_shown(item)}")
    fields = {key.lower(): value for key, value in item.items()}
    op, path = fields.get("op"), fields.get("path")
    if op not in _KNOWN:
        mend = "; use add, which also replaces" if op == "replace" else f"; known are {', '.join(_KNOWN)}"
        raise BadOutput(f"unsupported patch operation '{op}': {_shown(item)}{mend}")
    if not isinstance(path, str) or not path.startswith("/"):
        raise BadOutput(f"the path of a patch operation begins with '/': {_shown(item)}")
    return PatchOperation(op, path, fields.get("value"))


def _refusal(operation: PatchOperation, key: str) -> str:
    pointer = pointers.tokens(operation.path)
    if pointer[0] == key:
        return _of_whole(operation, key) if len(pointer) == 1 else ""
    if key == GLOBAL and pointer[0].endswith(ENABLED):
        return ""
    only = "only 'global' and '*Enabled' are permitted" if key == GLOBAL else f"only '{key}' accepted"
    return f"unacceptable patch operation for path '{pointer[0]}' ({only}): {_shown(document_of(operation))}"


def _of_whole(operation: PatchOperation, key: str) -> str:
    """What is wrong with an operation on the whole section."""
    if operation.op == "remove":
        return f"the whole section cannot be removed: {_shown(document_of(operation))}; add /{key} with {{}} empties it"
    if operation.op == "add" and not isinstance(operation.value, dict):
        return f"a section is a map: {_shown(document_of(operation))}"
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
        raise BadValues(GLOBAL, [f"a module is switched by true or false: {_shown(document_of(operation))}"])
    return module, flag
