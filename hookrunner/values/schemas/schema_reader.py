"""From documents to nodes: checks that a document is a schema, follows `$ref`, and reports everything that is wrong at
once.

Unknown keywords are ignored, as are keys without a value. What addon-operator overlooks is no problem, but a slip.

Documents are a module's own files, and whatever other files their `$ref`s name, as several modules share a schema
(`$ref: /schemas/node.yaml#/definitions/node`). A relative path begins at the file in which it is written; if there is
no such file, in the working directory, where the predecessor looks.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from hookrunner import safe_files
from hookrunner.values import pointers
from hookrunner.values.schemas import keywords, slips
from hookrunner.values.schemas.node import KINDS, Allowed, Node, ValidationRule
from hookrunner.values.schemas.slips import FOR_HELM, Slip, names, number
from kubetypes import patterns, yaml_values
from kubetypes.json_values import JSON

_ANY_FIELDS = "x-kubernetes-preserve-unknown-fields"
"""How the schema of a custom kind, such as an addon's `openapi/spec.yaml`, says that an object may have any fields.
Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/"""


class DanglingReference(LookupError):
    """A reference has no target; the message continues after the reference."""


class SchemaDocuments:
    """`own` is the content of the module's file `name` in `directory`. Other files are read when they are needed."""

    def __init__(self, directory: Path, name: str, own: JSON) -> None:
        self._directory = directory
        self._read: dict[str, JSON] = {name: own}

    def place(self, reference: str, at: str) -> str:
        """The target of a `$ref` at a place: file and JSON pointer."""
        file, _, pointer = reference.partition("#")
        here = at.partition("#")[0]
        if not file:
            return f"{here}#{pointer}"
        beside = (self._directory / here).parent / file
        return f"{(beside if os.path.exists(beside) else Path(file)).absolute()}#{pointer}"

    def at(self, place: str) -> JSON:
        """The value at a place. Raises NotThere. Source: RFC 6901."""
        file, _, pointer = place.partition("#")
        value = self._document(file)
        for key in pointers.tokens(pointer):
            if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
                value = value[int(key)]
            elif isinstance(value, dict) and key in value:
                value = value[key]
            else:
                raise DanglingReference("refers to nothing in this file; write #/definitions/NAME")
        return value

    def _document(self, file: str) -> JSON:
        if file not in self._read:
            try:
                contents = yaml_values.documents(safe_files.read(Path(file)), yaml_values.YAML_1_1)
                self._read[file] = next(contents, None)
            except yaml_values.BadDocument as error:
                raise DanglingReference(f"refers to a file that is {error}") from None
            except (OSError, ValueError) as error:
                raise DanglingReference(f"refers to a file that cannot be read: {error.args[-1]}") from None
        return self._read[file]


RULES = "x-deckhouse-validations"


class Reader:
    """Reads the schema in the file `name`, and its references. Errors are in `problems`, one line each; mistakes that
    addon-operator overlooks are in `slips`."""

    def __init__(self, documents: SchemaDocuments, name: str) -> None:
        self.problems: list[str] = []
        self.slips: list[Slip] = []
        self._documents = documents
        self._name = name
        self._read: dict[int, Node] = {}

    def root(self) -> Node:
        """The file's schema; afterwards `nodes` are all that were read."""
        return self.node(self._documents.at(f"{self._name}#"), f"{self._name}#")

    @property
    def nodes(self) -> list[Node]:
        return list(self._read.values())

    def node(self, raw: JSON, at: str) -> Node:
        """The schema at a place, which is a file and a JSON pointer: `openapi/values.yaml#/properties/a`. A node exists
        before its parts are read, since these may refer to it."""
        raw, at = self._resolve(raw, at)
        node = self._read.get(id(raw))
        if node is None:
            node = Node(at)
            if isinstance(raw, dict):
                self._read[id(raw)] = node
                self._fill(node, {key: value for key, value in raw.items() if value is not None}, at)
            elif raw is not None:
                self._report(at, "must be a schema, which is an object")
        return node

    def _report(self, at: str, text: str) -> None:
        self.problems.append(f"{at.removeprefix(self._name)} {text}")

    # ── references ────────────────────────────────────────────────────────────────────────────────────────────────

    def _resolve(self, raw: JSON, at: str) -> tuple[JSON, str]:
        """The target of a `$ref`, and its place. Keywords beside a `$ref` are ignored."""
        seen = [at]
        while isinstance(raw, dict) and isinstance(raw.get("$ref"), str):
            reference = raw["$ref"]
            try:
                at = self._documents.place(reference, seen[-1])
                raw = self._documents.at(at)
            except DanglingReference as error:
                self._report(seen[-1], f"$ref {reference} {error}")
                return None, at
            if at in seen:
                self._report(seen[-1], f"$ref {reference} leads back to itself")
                return None, at
            seen.append(at)
        return raw, at

    # ── one schema ────────────────────────────────────────────────────────────────────────────────────────────────

    def _fill(self, node: Node, raw: dict[str, JSON], at: str) -> None:
        self.slips += [Slip(f"{at}/{pointer}", text) for pointer, text in slips.found(raw)]
        raw = slips.without(raw)
        for key in [key for key in raw if key in _KEYWORDS]:
            fits, wanted = _KEYWORDS[key]
            if not fits(raw[key]):
                self._report(f"{at}/{key}", wanted)
                del raw[key]
        if "pattern" in raw and not self._usable(raw["pattern"], f"{at}/pattern"):
            del raw["pattern"]
        node.types = tuple(_listed(raw.get("type", ())))
        node.nullable = raw.get("nullable", False) or "null" in node.types
        node.tests = keywords.tests(raw)
        node.default = raw.get("default")
        node.rules = tuple(ValidationRule(item["expression"], item["message"]) for item in raw.get(RULES, ()))
        self._fill_object(node, raw, at)
        self._fill_rest(node, raw, at)

    def _fill_object(self, node: Node, raw: dict[str, JSON], at: str) -> None:
        node.required = tuple(raw.get("required", ()))
        node.required_for_helm = tuple(_listed(raw.get(FOR_HELM, ())))
        node.properties = self._named(raw, "properties", at)
        node.patterns = {
            patterns.compiled(key): inner
            for key, inner in self._named(raw, "patternProperties", at).items()
            if self._usable(key, f"{at}/patternProperties")
        }
        node.additional = self._allowed(raw, "additionalProperties", at)
        if node.additional is None and raw.get(_ANY_FIELDS) is True:
            node.additional = True
        node.dependencies = {
            key: tuple(inner) if names(inner) else self.node(inner, f"{at}/dependencies/{key}")
            for key, inner in raw.get("dependencies", {}).items()
        }
        self._named(raw, "definitions", at)

    def _fill_rest(self, node: Node, raw: dict[str, JSON], at: str) -> None:
        if "items" in raw:
            several = isinstance(raw["items"], list)
            node.items = self._many(raw, "items", at) if several else self.node(raw["items"], f"{at}/items")
        node.more_items = self._allowed(raw, "additionalItems", at)
        node.all_of = self._many(raw, "allOf", at)
        node.any_of = self._many(raw, "anyOf", at)
        node.one_of = self._many(raw, "oneOf", at)
        node.refused = self.node(raw["not"], f"{at}/not") if "not" in raw else None

    def _usable(self, pattern: str, at: str) -> bool:
        """Can the pattern be compiled? One that Go refuses is a slip; one that only this program refuses is a
        problem."""
        try:
            with suppress(patterns.InvalidInGo):
                patterns.compiled(pattern)
        except patterns.NotDoneHere as error:
            self._report(at, f"cannot be used here: {error}")
            return False
        return True

    def _named(self, raw: dict[str, JSON], key: str, at: str) -> dict[str, Node]:
        return {
            name: self.node(inner, f"{at}/{key}{pointers.text((name,))}") for name, inner in raw.get(key, {}).items()
        }

    def _many(self, raw: dict[str, JSON], key: str, at: str) -> tuple[Node, ...]:
        return tuple(self.node(inner, f"{at}/{key}/{index}") for index, inner in enumerate(raw.get(key, ())))

    def _allowed(self, raw: dict[str, JSON], key: str, at: str) -> Allowed:
        reference = raw.get(key)
        return reference if reference is None or isinstance(reference, bool) else self.node(reference, f"{at}/{key}")


def _listed(value: JSON) -> Iterable[str]:
    return [value] if isinstance(value, str) else value


def _rules(value: JSON) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, dict)
        and all(isinstance(item.get(key), str) and item[key].strip() for key in ValidationRule._fields)
        for item in value
    )


def _is(kind: type | tuple[type, ...], value: JSON) -> bool:
    return isinstance(value, kind)


_Fits = tuple[Callable[[JSON], bool], str]
_TYPE: _Fits = (
    lambda value: isinstance(value, str) or names(value),
    f"must be one of {', '.join(KINDS.values())}, or a list of them",
)
_FLAG: _Fits = (partial(_is, bool), "must be true or false")
_TEXT: _Fits = (partial(_is, str), "must be a text")
_LIST: _Fits = (partial(_is, list), "must be a list")
_OBJECT: _Fits = (partial(_is, dict), "must be an object")
_SUBSCHEMA: _Fits = (partial(_is, dict), "must be a schema, which is an object")
_OR_BOOL: _Fits = (partial(_is, (dict, bool)), "must be true, false or a schema")
_NAMES: _Fits = (names, "must be a list of keys")
_NUMBER: _Fits = (number, "must be a number")
_COUNT: _Fits = (lambda value: number(value) and value == int(value), "must be a whole number")
_KEYWORDS: Mapping[str, _Fits] = {
    "type": _TYPE,
    **dict.fromkeys(("nullable", "uniqueItems", "exclusiveMinimum", "exclusiveMaximum"), _FLAG),
    **dict.fromkeys(("format", "pattern"), _TEXT),
    **dict.fromkeys(("enum", "allOf", "anyOf", "oneOf"), _LIST),
    **dict.fromkeys(("properties", "patternProperties", "definitions", "dependencies"), _OBJECT),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _COUNT),
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), _NUMBER),
    **dict.fromkeys(("additionalProperties", "additionalItems"), _OR_BOOL),
    "not": _SUBSCHEMA,
    "items": (partial(_is, (dict, list)), "must be a schema or a list of schemas"),
    "required": _NAMES,
    FOR_HELM: (lambda value: isinstance(value, str) or names(value), "must be a key or a list of keys"),
    RULES: (_rules, "must be a list of objects with `expression` and `message`, both texts that are not empty"),
}
