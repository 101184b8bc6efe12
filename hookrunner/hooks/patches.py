"""The patches that hooks write: the file behind `KUBERNETES_PATCH_PATH` as operations on objects (`parse`), and patches
of values (`parse_values_patch`). A JSON patch is checked before it is sent anywhere, so that an error names the step;
that of a review too (`step_problems`).

The whole file is read and checked before the first operation is carried out, which `kube/objects` does. Unknown keys
are ignored, as the predecessor does. Texts are never guessed: `name: 0123` is refused instead of deleting object `83`.
What a patch of values may change is decided in `values/patches.py`.

Source: https://www.rfc-editor.org/rfc/rfc6902
"""

import re
from collections.abc import Iterator, Sequence

from hookrunner import redaction
from hookrunner.errors import BadOutput
from hookrunner.hooks import documents
from hookrunner.model.operations import ObjectOperation, ValuesOperation, Verb
from hookrunner.shapes import FLAG, TEXT, Many, Problem, Table, Text, check
from kubetypes.json_values import JSON
from kubetypes.yaml_values import BadDocument

_CREATES = (Verb.CREATE, Verb.CREATE_OR_UPDATE, Verb.CREATE_IF_NOT_EXISTS, Verb.APPLY)
_PATCHES = (Verb.JQ_PATCH, Verb.MERGE_PATCH, Verb.JSON_PATCH)
_DELETES = (Verb.DELETE, Verb.DELETE_IN_BACKGROUND, Verb.DELETE_NON_CASCADING)
_PRECONDITIONS = ("uid", "resourceVersion")
_BODY = {Verb.MERGE_PATCH: "mergePatch", Verb.JSON_PATCH: "jsonPatch"} | dict.fromkeys(_CREATES, "object")
_FLAGS = ("ignoreMissingObject", "ignoreHookError")
_TEXTS = ("apiVersion", "kind", "namespace", "name", "subresource", "jqFilter")

_DOCUMENT = Table(
    {"operation": Text(tuple(Verb)), **dict.fromkeys(_TEXTS, TEXT), **dict.fromkeys(_FLAGS, FLAG)},
    required={"operation": "MergePatch"},
    open=True,
)
_KEYS = {**_DOCUMENT.keys, **dict.fromkeys(_PRECONDITIONS), "object": None, "mergePatch": None, "jsonPatch": None}
_OBJECT = Table(
    {
        "kind": TEXT,
        "apiVersion": TEXT,
        "metadata": Table({"name": TEXT, "namespace": TEXT, "generateName": TEXT}, open=True),
    },
    required={"kind": "ConfigMap"},
    open=True,
)
_NAME = re.compile(r"[A-Za-z0-9][\w.:-]{0,252}", re.ASCII)
_YES_NO = {"y": True, "yes": True, "on": True, "n": False, "no": False, "off": False}


def parse(text: bytes) -> tuple[ObjectOperation, ...]:
    """All operations of a patch file. Raises BadOutput naming the first document that cannot be carried out."""
    try:
        items, was_json = documents.every(text)
    except BadDocument as error:
        raise BadOutput(f"got bad patch file: document {error.number}: {error}; nothing was applied") from None
    return to_operations(items, was_json)


def to_operations(items: Sequence[JSON], was_json: bool = True) -> tuple[ObjectOperation, ...]:
    """The same for values that have been read."""
    return tuple(_operation(number, document, was_json) for number, document in enumerate(items, 1))


def _operation(number: int, document: JSON, was_json: bool) -> ObjectOperation:
    fields = documents.folded(document, _KEYS, was_json, _PRECONDITIONS)
    if isinstance(fields, dict):
        fields = {key: _flag(value) if key in _FLAGS and not was_json else value for key, value in fields.items()}
    problems = list(check(fields, _DOCUMENT, ""))
    verb = None if problems else Verb(fields["operation"])
    body: JSON = None
    if verb in _BODY:
        body = _body(fields.get(_BODY[verb]))
    if verb:
        problems = list(_problems(verb, fields, body))
    if problems or not verb:
        raise BadOutput(_refusal(number, document, problems) + _target(fields))
    return _to_operation(verb, fields, body)


def _flag(value: JSON) -> JSON:
    """The words of YAML 1.1 are texts to our reader, which an API object needs, but not in a flag."""
    return _YES_NO.get(value.lower(), value) if isinstance(value, str) else value


def _body(value: JSON) -> JSON:
    """An object or patch, also given as a text of JSON or YAML. A text that cannot be read stays one."""
    if not isinstance(value, str):
        return value
    try:
        values = documents.every(value.encode(errors="replace"))[0]
    except BadDocument:
        return value
    return values[0] if len(values) == 1 else value


def _problems(verb: Verb, fields: JSON, body: JSON) -> Iterator[Problem]:
    """What is wrong with a document whose own fields have the right types."""
    if verb in _CREATES:
        yield from _unlike(body, _OBJECT, "object")
        return
    for key in ("kind", "name"):
        if not fields.get(key):
            yield Problem(key, f"is required for {verb}")
    if verb in _DELETES:
        yield from _unusable_preconditions(fields)
    if verb is Verb.JQ_PATCH and not fields.get("jqFilter"):
        yield Problem("jqFilter", "is required for JQPatch; write a jq program such as '.spec.replicas = 2'")
    if verb is Verb.MERGE_PATCH:
        yield from _unlike(body, Table({}, open=True), "mergePatch")
    if verb is Verb.JSON_PATCH:
        missing = list(_missing(body, "jsonPatch", "a list"))
        yield from missing or step_problems(body, "jsonPatch")


def _unusable_preconditions(fields: JSON) -> Iterator[Problem]:
    """One that is null or empty comes from an object that has none, and would delete any object of this name."""
    for key in _PRECONDITIONS:
        if key in fields and not (isinstance(fields[key], str) and fields[key]):
            yield Problem(key, "must be a text that is not empty; leave it out to delete any object of this name")


def _unlike(body: JSON, shape: Table, key: str) -> Iterator[Problem]:
    yield from list(_missing(body, key, "an object")) or check(body, shape, key)


def _missing(body: JSON, key: str, kind: str) -> Iterator[Problem]:
    if body is None or body in ("", {}, []):
        yield Problem(key, f"is required and must not be empty; give {kind}, or a text of JSON or YAML")
    elif isinstance(body, str):
        yield Problem(key, f"is a text that is not one document of JSON or YAML with {kind} in it")


def _to_operation(verb: Verb, fields: JSON, body: JSON) -> ObjectOperation:
    """Create operations take their coordinates from the object itself."""
    metadata = body.get("metadata", {}) if verb in _CREATES else fields
    where = body if verb in _CREATES else fields
    return ObjectOperation(
        verb=verb,
        kind=where["kind"],
        name=metadata.get("name", ""),
        api_version=where.get("apiVersion", ""),
        namespace=metadata.get("namespace", ""),
        subresource=fields.get("subresource", "").strip("/"),
        body=body,
        jq_filter=fields.get("jqFilter", "") if verb is Verb.JQ_PATCH else "",
        uid=fields.get("uid", "") if verb in _DELETES else "",
        version=fields.get("resourceVersion", "") if verb in _DELETES else "",
        ignore_missing=verb in _PATCHES and fields.get("ignoreMissingObject", False),
        ignore_hook_error=verb in _PATCHES and fields.get("ignoreHookError", False),
    )


def _refusal(number: int, document: JSON, problems: list[Problem]) -> str:
    """What is wrong with which document. It is not shown: it may be the content of a Secret."""
    if isinstance(document, list):
        problems = [Problem("", "it is a list; write the documents one after another, without brackets and commas")]
    return (
        f"can't validate document {number} of the patch file: {'; '.join(map(str, problems))}; nothing was applied. "
        f"The document is {redaction.described(document)}"
    )


def _target(document: JSON) -> str:
    """`; it is about ConfigMap default/x`, as far as the document names it."""
    if not isinstance(document, dict):
        return ""
    body = _body(document.get("object"))
    where = body if isinstance(body, dict) and "kind" in body else document
    metadata = where.get("metadata")
    named = metadata if isinstance(metadata, dict) and where is body else document
    names = "/".join(name for key in ("namespace", "name") if (name := _name(named.get(key))))
    words = [word for word in (_name(where.get("kind")), names) if word]
    return f"; it is about {' '.join(words)}" if words else ""


def _name(value: JSON) -> str:
    """The value if it can be the name of a kind or an object, else nothing: it may be anything."""
    return value if isinstance(value, str) and _NAME.fullmatch(value) else ""


MOST_VALUE_OPERATIONS = 5_000
"""Of one file: some 50 ms of the event loop, in which they are carried out."""
_VALUE_OPERATIONS = ("add", "remove", "test")
_UNSUPPORTED = ("replace", "move", "copy")
"""Operations of RFC 6902 that neither the predecessor nor hookrunner supports in values."""


def parse_values_patch(text: bytes) -> tuple[ValuesOperation, ...]:
    """The operations of a patch file: a stream of JSON, each an operation or a list of them. Other values in the
    stream are ignored. Raises BadOutput."""
    try:
        items = documents.every_json(text)
    except BadDocument as error:
        raise BadOutput(f"the patch of values is {error}") from None
    return to_value_operations(items)


def to_value_operations(items: Sequence[JSON]) -> tuple[ValuesOperation, ...]:
    """The same for values that have been read."""
    lists = (item if isinstance(item, list) else [item] for item in items if isinstance(item, list | dict))
    operations = [item for items in lists for item in items]
    if len(operations) > MOST_VALUE_OPERATIONS:
        raise BadOutput(
            f"the patch of values has {len(operations):,} operations, and {MOST_VALUE_OPERATIONS:,} are permitted; add "
            "a map or a list as a whole"
        )
    return tuple(map(_value_operation, operations))


def _value_operation(item: JSON) -> ValuesOperation:
    """Keys in any case: that is how the predecessor reads them."""
    if not isinstance(item, dict):
        raise BadOutput(f"a patch of values is made of objects with op and path, not of {redaction.described(item)}")
    fields = {key.lower(): value for key, value in item.items()}
    op, path = fields.get("op"), fields.get("path")
    if op not in _VALUE_OPERATIONS:
        word = f" '{op}'" if op in _UNSUPPORTED else ""
        mend = "; use add, which also replaces" if op == "replace" else f"; known are {', '.join(_VALUE_OPERATIONS)}"
        place = f" for {path}" if _is_path(path) else ""
        raise BadOutput(f"unsupported patch operation{word}{place}: {redaction.described(item)}{mend}")
    if not isinstance(path, str) or not _is_path(path):
        raise BadOutput(f"the path of a patch operation begins with '/': {op} has {redaction.described(path)} there")
    return ValuesOperation(op, path, fields.get("value"))


def _is_path(path: JSON) -> bool:
    return isinstance(path, str) and path.startswith("/")


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
    for index, step in enumerate(steps if isinstance(steps, list) else ()):
        operation = str(step.get("op")) if isinstance(step, dict) else ""
        needed = _NEEDED.get(operation)
        if needed and needed not in step:
            yield Problem(f"{key}[{index}].{needed}", f"is required for {operation}")
