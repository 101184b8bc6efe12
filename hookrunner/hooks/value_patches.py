"""What hooks write of values, as operations (addon-operator.md §2.5, §13.11). What they may change is decided in
`values.patches`."""

from hookrunner import redaction
from hookrunner.errors import BadOutput
from hookrunner.hooks import documents
from hookrunner.model.resources import JSON
from hookrunner.model.values import PatchOperation
from kubetypes.yaml_values import BadDocument

_KNOWN = ("add", "remove", "test")
_UNKNOWN = ("replace", "move", "copy")
"""Those of RFC 6902 that neither the predecessor nor we know."""


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
