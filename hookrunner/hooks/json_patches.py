"""JSON patches that hooks write: the operations of a patch of values, and the steps of a JSON patch of an object or a
review, checked before they are sent anywhere, so that an error names the step. What a patch of values may change is
decided in `values/patches.py`.

Source: https://www.rfc-editor.org/rfc/rfc6902
"""

from collections.abc import Iterator

from hookrunner import redaction
from hookrunner.errors import BadOutput
from hookrunner.hooks import documents
from hookrunner.hooks.shapes import TEXT, Many, Problem, Table, Text, check
from hookrunner.model.operations import PatchOperation
from kubetypes.json_values import JSON
from kubetypes.yaml_values import BadDocument

_KNOWN = ("add", "remove", "test")
_UNKNOWN = ("replace", "move", "copy")
"""Operations of RFC 6902 that neither the predecessor nor hookrunner supports in values."""


def parse(text: bytes) -> tuple[PatchOperation, ...]:
    """The operations of a patch file: a stream of JSON, each an operation or a list of them. Other values in the
    stream are ignored. Raises BadOutput."""
    try:
        found = documents.every_json(text)
    except BadDocument as error:
        raise BadOutput(f"the patch of values is {error}") from None
    lists = (one if isinstance(one, list) else [one] for one in found if isinstance(one, list | dict))
    return tuple(_operation(item) for items in lists for item in items)


def _operation(item: JSON) -> PatchOperation:
    """Keys in any case: that is how the predecessor reads them."""
    if not isinstance(item, dict):
        raise BadOutput(f"a patch of values is made of objects with op and path, not of {redaction.described(item)}")
    fields = {key.lower(): value for key, value in item.items()}
    op, path = fields.get("op"), fields.get("path")
    if op not in _KNOWN:
        word = f" '{op}'" if op in _UNKNOWN else ""
        mend = "; use add, which also replaces" if op == "replace" else f"; known are {', '.join(_KNOWN)}"
        raise BadOutput(f"unsupported patch operation{word}{_place(path)}: {redaction.described(item)}{mend}")
    if not isinstance(path, str) or not _is_path(path):
        raise BadOutput(f"the path of a patch operation begins with '/': {op} has {redaction.described(path)} there")
    return PatchOperation(op, path, fields.get("value"))


def _is_path(path: JSON) -> bool:
    return isinstance(path, str) and path.startswith("/")


def _place(path: JSON) -> str:
    return f" for {path}" if _is_path(path) else ""


_STEPS = Many(
    Table(
        {"op": Text(("add", "remove", "replace", "move", "copy", "test")), "path": TEXT, "from": TEXT},
        required={"op": "replace", "path": "/spec/replicas"},
        open=True,
    )
)
_NEEDED = {"add": "value", "replace": "value", "test": "value", "move": "from", "copy": "from"}


def step_problems(steps: JSON, key: str) -> Iterator[Problem]:
    """What is wrong with the value of `key`, which must be a list of steps."""
    yield from check(steps, _STEPS, key)
    for place, step in enumerate(steps if isinstance(steps, list) else ()):
        operation = str(step.get("op")) if isinstance(step, dict) else ""
        needed = _NEEDED.get(operation)
        if needed and needed not in step:
            yield Problem(f"{key}[{place}].{needed}", f"is required for {operation}")
