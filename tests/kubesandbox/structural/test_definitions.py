"""Definitions: every complaint, and what is added to a good one, equal to a real API server's. Level: control plane."""

import re
from collections.abc import Callable
from typing import Any

from kubesandbox.structural.definitions import definition
from tests.kubesandbox.oracle import Oracle
from tests.kubesandbox.structural import widgets
from tests.kubesandbox.structural.widgets import CRDS, Raw, with_fields
from tests.tables import each

OBJECT = {"type": "object"}
TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
ITEMS = {"type": "array", "items": TEXT}
INT_OR_STRING = [NUMBER, TEXT]
EMBEDDED = {"x-kubernetes-embedded-resource": True}
KEEPING = {"x-kubernetes-preserve-unknown-fields": True}
EITHER = {"x-kubernetes-int-or-string": True}
MAP_LIST = {"type": "array", "x-kubernetes-list-type": "map"}
SET_LIST = {"type": "array", "x-kubernetes-list-type": "set"}
LABELS = {
    "type": "object",
    "properties": {"labels": {"type": "object", "additionalProperties": TEXT | {"default": "x"}}},
}
FORBIDDEN_IN_JUNCTION = (
    {"description": "x", "title": "y", "nullable": True, "default": {}, "additionalProperties": TEXT}
    | KEEPING
    | EMBEDDED
    | EITHER
    | {"x-kubernetes-list-type": "map", "x-kubernetes-map-type": "atomic", "x-kubernetes-list-map-keys": ["q"]}
    | {"x-kubernetes-validations": [{"rule": "true"}]}
)

# The API server shows versions and schemas in its internal form there, we as they were written.
VALUE_SHOWN = re.compile(r"^Invalid value: [\[{].*[\]}]: (must (have|contain)|only \[)", re.DOTALL)

MORE: list[Any] = [TEXT, False, True, {}]
BESIDE_STATUS: list[Raw] = [
    {},
    {"oneOf": [{"required": ["a"]}]},
    {"enum": [{}]},
    {"required": ["spec"], "description": "x"},
]
FIELDS: list[Raw] = [
    *({}, {"type": "foo"}, {"type": "null"}, {"type": "array"}, {"type": "array", "items": {}}),
    {"type": "array", "items": [TEXT]},
    *(TEXT | {"uniqueItems": True}, ITEMS | {"uniqueItems": True}, TEXT | {"id": "x"}, {"$ref": "#/x"}),
    *(OBJECT | {"properties": {"a": TEXT}, "additionalProperties": more} for more in MORE),
    *(OBJECT | {"additionalProperties": more} for more in MORE),
    *(
        TEXT | {"pattern": pattern}
        for pattern in ("[", "(?=a)", "a**", "(a", "a)", r"\1", "a{1001}", "*a", r"\y", "a{2}{3}")
    ),
    *(
        TEXT | {"pattern": pattern}
        for pattern in ("a\\", "[z-a]", "(?P<n>a)", "(?<n>a)", "x*?", "a??", "^$", "[[:alpha:]]")
    ),
    *(TEXT | {"$ref": "#/x"}, OBJECT | {"patternProperties": {"a": TEXT}}, OBJECT | {"definitions": {"a": TEXT}}),
    *(OBJECT | {"dependencies": {"a": ["b"]}}, ITEMS | {"additionalItems": True}),
    *(TEXT | EITHER, EITHER, EITHER | KEEPING, EITHER | EMBEDDED, EITHER | {"anyOf": INT_OR_STRING}),
    EITHER | {"anyOf": [TEXT, NUMBER]},
    EITHER | {"allOf": [{"anyOf": INT_OR_STRING}, {"pattern": "x"}]},
    {"anyOf": INT_OR_STRING},
    OBJECT | {"x-kubernetes-preserve-unknown-fields": False},
    *(OBJECT | EMBEDDED, TEXT | EMBEDDED | KEEPING, EMBEDDED | KEEPING),
    OBJECT | EMBEDDED | KEEPING | {"additionalProperties": TEXT},
    OBJECT | EMBEDDED | {"properties": {"spec": OBJECT, "metadata": LABELS}},
    *(
        TEXT | {"x-kubernetes-list-type": "set"},
        {"x-kubernetes-list-type": "set"},
        ITEMS | {"x-kubernetes-list-type": "x"},
    ),
    *(SET_LIST | {"items": OBJECT}, SET_LIST | {"items": OBJECT | {"x-kubernetes-map-type": "atomic"}}),
    SET_LIST | {"items": ITEMS | {"x-kubernetes-list-type": "set"}},
    SET_LIST | {"items": TEXT | {"nullable": True}},
    *(ITEMS | {"x-kubernetes-list-map-keys": ["a"]}, MAP_LIST | {"items": TEXT}),
    MAP_LIST | {"items": OBJECT, "x-kubernetes-list-map-keys": ["a"]},
    MAP_LIST
    | {
        "items": OBJECT
        | {"properties": {"a": TEXT, "b": OBJECT | {"nullable": True}}, "required": ["a"], "nullable": True},
        "x-kubernetes-list-map-keys": ["a", "a", "b"],
    },
    ITEMS | {"x-kubernetes-list-type": "atomic", "x-kubernetes-list-map-keys": ["a"]},
    *(kind | {"x-kubernetes-map-type": said} for kind, said in ((TEXT, "atomic"), ({}, "atomic"), (OBJECT, "foo"))),
    OBJECT | {"anyOf": [OBJECT | {"properties": {"a": TEXT}}]},
    OBJECT | {"properties": {"a": TEXT}, "anyOf": [{"properties": {"a": {"minLength": 1}, "b": {"minLength": 1}}}]},
    {"type": "array", "items": OBJECT, "not": {"items": {"properties": {"x": {"pattern": "("}}}}},
    OBJECT | {"allOf": [FORBIDDEN_IN_JUNCTION]},
    OBJECT | {"properties": {"metadata": OBJECT}, "anyOf": [{"properties": {"metadata": {"required": ["x"]}}}]},
    OBJECT | {"oneOf": [{"required": ["x"]}, {"not": {"items": {"minLength": 1}}}]},
    *(TEXT | {"default": 5}, TEXT | {"default": "x", "pattern": "^y"}, OBJECT | {"default": {"a": 1}}),
    OBJECT | {"default": {"a": 1, "b": "x"}, "properties": {"a": TEXT, "b": NUMBER}},
    {"type": "array", "default": [{"a": 1}], "items": OBJECT | {"properties": {"a": NUMBER | {"default": "x"}}}},
    OBJECT | {"additionalProperties": TEXT | {"default": 5}},
    OBJECT | EMBEDDED | KEEPING | {"default": {"apiVersion": "v1"}},
    OBJECT | {"required": ["a"], "default": {}, "properties": {"a": TEXT}},
    TEXT
    | {
        "x-kubernetes-validations": [
            *(
                {"rule": ""},
                {"rule": "true", "message": " "},
                {"rule": "true", "message": "a\nb"},
                {"rule": "true ||\n true"},
            ),
            *(
                {"rule": "true", "reason": "Foo"},
                {"rule": "true", "fieldPath": " "},
                {"rule": "true", "fieldPath": ".a\n"},
            ),
            {"rule": "true", "messageExpression": " "},
        ]
    },
    *(TEXT | {"minLength": -1}, NUMBER | {"multipleOf": 0}, OBJECT | {"required": ["a", "a"]}),
]
ROOTS: list[Raw] = [
    *({}, TEXT, OBJECT, OBJECT | {"nullable": True}, OBJECT | {"additionalProperties": TEXT}, OBJECT | {"default": {}}),
    *(KEEPING, OBJECT | EMBEDDED, OBJECT | {"properties": {"kind": TEXT | {"default": "x"}}}),
    OBJECT | {"properties": {"metadata": OBJECT | {"properties": {"labels": OBJECT}}}},
    OBJECT | {"properties": {"metadata": OBJECT | {"description": "x"}}},
    OBJECT | {"properties": {"metadata": OBJECT | {"properties": {"name": TEXT | {"pattern": "^a"}}}}},
    OBJECT | {"properties": {"metadata": TEXT, "kind": NUMBER, "apiVersion": {}}},
]
FULL = with_fields(s=TEXT, i=NUMBER, n={"type": "number"}, o=OBJECT, a=ITEMS, m=OBJECT | {"additionalProperties": TEXT})
SCALES: list[Raw] = [
    {},
    {"specReplicasPath": "spec.x", "statusReplicasPath": ".spec.x", "labelSelectorPath": "x"},
    {"specReplicasPath": ".spec.i", "statusReplicasPath": ".status.i", "labelSelectorPath": ".metadata.x"},
    {"specReplicasPath": ".status.x", "statusReplicasPath": ".status.x"},
]
COLUMNS: list[Raw] = [
    {},
    {"name": "a", "type": "x", "jsonPath": "x"},
    {"name": "a", "type": "string", "jsonPath": ".a", "format": "q"},
    {"name": "a", "type": "date", "jsonPath": ".a", "format": "date", "priority": 1},
]
SELECTABLE = [
    *("", ".spec.s", "spec.s", ".spec.nope", ".spec.n", ".spec.o", ".spec.a", ".metadata.name", ".spec['s']"),
    *(".spec.a[0]", ".spec.", ".", ".spec.s.t"),
]


def _with(**spec: Any) -> Raw:
    made = widgets.definition(OBJECT)
    made["spec"] |= spec
    return made


def _version(**version: Any) -> Raw:
    return widgets.definition(OBJECT, **version)


def _second(**version: Any) -> Raw:
    made = widgets.definition(OBJECT)
    made["spec"]["versions"].append({"name": "v2", "served": True, "storage": False} | version)
    return made


def _approved(said: str | None) -> Raw:
    made = widgets.definition(OBJECT, "foo.k8s.io")
    made["metadata"] |= {} if said is None else {"annotations": {"api-approved.kubernetes.io": said}}
    return made


SCHEMA = {"openAPIV3Schema": OBJECT}
OTHER = {"openAPIV3Schema": TEXT}
STRANGE_NAMES = {"plural": "widgets", "kind": "w.x", "listKind": "w.x", "shortNames": ["A", "b"], "categories": ["X Y"]}
DEFINITIONS: list[Raw] = [
    widgets.definition(OBJECT),
    *(_with(scope=scope) for scope in ("", "X", "Namespaced")),
    *(_with(group=group) for group in ("", "nodots", "A.B", "other.test")),
    *(
        _with(names=names)
        for names in ({}, {"plural": "Wi_dgets", "kind": "Widget"}, {"plural": "widgets"}, STRANGE_NAMES)
    ),
    *(_version(storage=False), _version(name="V_1"), _version(deprecationWarning="x")),
    *(_version(deprecated=True, deprecationWarning=warning) for warning in ("", "fine", "x" * 300)),
    _second(served=False, schema=OTHER),
    _second(schema=OTHER, subresources={"status": {}}, additionalPrinterColumns=[{"name": "x"}]),
    *(_second(), _second(storage=True, schema=SCHEMA), _second(name="v1", schema=SCHEMA)),
    *(_with(preserveUnknownFields=kept) for kept in (True, False)),
    *(_with(conversion={"strategy": strategy}) for strategy in ("Foo", "None")),
    _with(conversion={"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}),
    *(_approved(said) for said in (None, "", "unapproved, x", "https://example.com/x", "nope")),
    *(widgets.definition(with_fields(v=schema)) for schema in FIELDS),
    *(widgets.definition(schema) for schema in ROOTS),
    *(widgets.definition(FULL, subresources={"scale": scale}) for scale in SCALES),
    *(widgets.definition(FULL, additionalPrinterColumns=[column]) for column in COLUMNS),
    *(widgets.definition(FULL, selectableFields=[{"jsonPath": path}]) for path in SELECTABLE),
    widgets.definition(FULL, selectableFields=[{"jsonPath": ".spec.s"}, {"jsonPath": ".spec.s"}]),
    *(widgets.definition(OBJECT | more, subresources={"status": {}}) for more in BESIDE_STATUS),
]


def _plain(causes: widgets.Causes) -> list[tuple[str, ...]]:
    return sorted({(field, reason, VALUE_SHOWN.sub(r"\1", message)) for field, reason, message in causes})


@each("body", DEFINITIONS, ids=[str(index) for index in range(len(DEFINITIONS))])
def test_a_definition_is_taken_or_refused_as_the_api_server_does(oracle: Oracle, body: Raw) -> None:
    code, answer = oracle.ask("POST", CRDS, body, dryRun="All")
    ours = definition.defaulted(body)
    assert _plain(widgets.told(definition.problems(ours, None))) == _plain(widgets.said(answer))
    if code == 201:
        assert (ours["spec"], ours["status"]) == (answer["spec"], answer["status"])


def _renamed(body: Raw) -> None:
    body["spec"]["names"] = {"plural": "others", "kind": "Other"}


def _rescoped(body: Raw) -> None:
    body["spec"]["scope"] = "Namespaced"


def _without_v1(body: Raw) -> None:
    body["spec"]["versions"] = [{"name": "v2", "served": True, "storage": True, "schema": SCHEMA}]


def _moved(body: Raw) -> None:
    body["spec"]["group"] = "other.structural.test"


@each("change", [_renamed, _rescoped, _without_v1, _moved])
def test_what_may_not_change_does_not(oracle: Oracle, change: Callable[[Raw], None]) -> None:
    with widgets.widgets(oracle, OBJECT) as served:
        path = f"{CRDS}/widgets.{served.path.split('/')[2]}"
        old, new = oracle.ask("GET", path)[1], oracle.ask("GET", path)[1]
        change(new)
        _, answer = oracle.put(path, new, dry=True, known_as=change.__name__)
    assert _plain(widgets.told(definition.problems(definition.defaulted(new), old))) == _plain(widgets.said(answer))


def test_a_changed_schema_is_checked_as_a_new_one() -> None:
    old = definition.defaulted(widgets.definition(OBJECT))
    new = definition.defaulted(widgets.definition(with_fields(a={"type": "strange"})))
    (cause,) = definition.problems(new, old)
    assert [cause] == definition.problems(new, None)
    assert cause.field.endswith("properties[a].type")
