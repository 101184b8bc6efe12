"""No error quotes a value: documents of every form with a marker in each value are refused, and neither the error nor
the log has the marker. What is named are keys, kinds, and names of objects, bindings and metrics.

Level: pure.
"""

import json
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hookrunner import log, redaction
from hookrunner.charts.manifests import manifests
from hookrunner.errors import HookrunnerError
from hookrunner.hooks import metric_operations, patches, verdicts
from hookrunner.hooks.config import hook_config
from hookrunner.jq.complaints import of_failure
from hookrunner.kube.refusals import without_values
from hookrunner.model.operations import ValuesOperation
from hookrunner.modules.offline import to_config
from hookrunner.values.config_sections import parse as parse_sections
from hookrunner.values.schemas.schema_files import Schemas, load
from hookrunner.values.section_store import SectionStore
from tests.examples import several

MARKER, NUMBER = "hunter2", 918273645
HIDDEN = (MARKER, str(NUMBER), f"{NUMBER:,}")

LEAVES = st.sampled_from(
    [
        MARKER,
        f"it is {MARKER}",
        f"it is {MARKER}: y",
        f"{MARKER}\n  - it is {MARKER}: [",
        f'"{MARKER}',
        f"*{MARKER}",
        f"!{MARKER} x",
        f"!!int {MARKER}",
        f"{{{MARKER}",
        f"{NUMBER}" * 9,
        f"{NUMBER}e999",
        NUMBER,
        -NUMBER,
        NUMBER + 0.5,
        True,
        None,
    ]
)
SPOILED = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["data", "a", "op"]), inner, max_size=3)
    ),
    max_leaves=4,
)
"""Values with the marker in them, of each kind."""


def rarely(instead: st.SearchStrategy[Any], value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """One of five times the first: most of a document has to be right for the rest to be looked at."""
    return st.integers(1, 5).flatmap(lambda number: instead if number == 1 else value)


def spoiled(document: Any, names: frozenset[str] = frozenset()) -> st.SearchStrategy[Any]:
    """The document with some of its values replaced; `names` are keys with what things are called."""
    if isinstance(document, dict):
        parts = {key: st.just(value) if key in names else spoiled(value, names) for key, value in document.items()}
        return rarely(SPOILED, st.fixed_dictionaries({}, optional=parts) | st.fixed_dictionaries(parts))
    if isinstance(document, list):
        return rarely(SPOILED, st.tuples(*(spoiled(item, names) for item in document)).map(list))
    return rarely(SPOILED, st.just(document))


def raw(document: Any) -> str:
    """YAML without any quotes, as people write it."""
    if not isinstance(document, dict):
        return str(document)
    return "\n".join(f"{key}: {value}" for key, value in document.items())


def texts(documents: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    """A file with one or more of these documents: JSON, a JSON list, YAML, YAML without quotes, any of them cut."""
    many = st.lists(documents, min_size=1, max_size=3)
    whole = st.one_of(
        many.map(lambda some: "\n".join(map(json.dumps, some))),
        many.map(json.dumps),
        many.map(lambda some: str(yaml.safe_dump_all(some, sort_keys=False))),
        many.map(lambda some: "\n---\n".join(map(raw, some))),
    )
    return st.one_of(whole, st.tuples(whole, st.integers(1, 200)).map(lambda one: one[0][: one[1]])).map(str.encode)


def told(read: Callable[[], object]) -> str:
    """What a reader says of a document: its errors, and what it writes to the log."""
    lines = StringIO()
    before = log._OUTPUT.lines
    log._OUTPUT.lines = log.LineWriter(lines)
    try:
        read()
    except HookrunnerError as error:
        return f"{error} {lines.getvalue()}"
    finally:
        log._OUTPUT.lines = before
    return lines.getvalue()


def shown(text: str) -> Iterator[str]:
    """The parts of a message that are hidden elsewhere, if it has any."""
    return (word for word in HIDDEN if word in text)


def assert_hidden(text: str) -> None:
    assert list(shown(text)) == [], text


NAMES = frozenset({"apiVersion", "kind", "name", "namespace", "group", "path", "crdName", "resources", "generateName"})
OBJECT = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"password": "b"}}
PATCH = {
    "operation": "MergePatch",
    "kind": "Secret",
    "namespace": "b",
    "name": "a",
    "subresource": "status",
    "mergePatch": {"data": {"password": "c"}},
    "jsonPatch": [{"op": "add", "path": "/data", "value": "d"}],
    "jqFilter": ".",
    "object": OBJECT,
    "ignoreMissingObject": True,
}
METRIC = {"name": "a", "action": "set", "value": 1, "labels": {"a": "b"}, "buckets": [1, 2], "group": "c", "add": 1}
VERDICT = {
    "allowed": True,
    "message": "m",
    "code": 400,
    "warnings": ["w"],
    "auditAnnotations": {"a": "b"},
    "patch": [{"op": "add", "path": "/a", "value": "b"}],
    "unknown": 1,
}
CONVERSION = {"failedMessage": "m", "convertedObjects": [OBJECT]}
OPERATION = {"op": "add", "path": "/dns/a", "value": "b"}
CONFIG = {
    "configVersion": "v1",
    "onStartup": 1,
    "settings": {"timeout": "1s", "executionMinInterval": "1s", "onFailure": "retry", "maxAttempts": 1},
    "schedule": [{"name": "s", "crontab": "* * * * *", "timezone": "UTC"}],
    "kubernetes": [
        {
            "name": "k",
            "apiVersion": "v1",
            "kind": "Pod",
            "executeHookOnEvent": ["Added"],
            "jqFilter": ".a",
            "labelSelector": {
                "matchLabels": {"a": "b"},
                "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}],
            },
            "fieldSelector": {"matchExpressions": [{"field": "a", "operator": "Equals", "value": "b"}]},
            "namespace": {"labelSelector": {"matchLabels": {"a": "b"}}},
        }
    ],
    "kubernetesValidating": [
        {
            "name": "a.b.c",
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
            "failurePolicy": "Fail",
            "timeoutSeconds": 5,
            "matchConditions": [{"name": "a", "expression": "true"}],
        }
    ],
}
OLD_CONFIG = {
    "onStartup": 1,
    "schedule": [{"name": "s", "crontab": "* * * * *"}],
    "onKubernetesEvent": [{"name": "k", "kind": "Pod", "event": ["add"], "selector": {"matchLabels": {"a": "b"}}}],
}


@pytest.mark.slow
@given(texts(spoiled(PATCH, NAMES)))
def test_errors_about_patch_files_quote_no_value(text: bytes) -> None:
    assert_hidden(told(lambda: patches.parse(text)))


@example(json.dumps({"name": "a", "action": f"{MARKER} or set", "value": 1}).encode())
@given(texts(spoiled(METRIC, NAMES)))
def test_errors_about_metrics_files_quote_no_value(text: bytes) -> None:
    assert_hidden(told(lambda: metric_operations.parse(text)))


@given(texts(spoiled(VERDICT)), texts(spoiled(CONVERSION)))
def test_errors_about_verdicts_and_conversions_quote_no_value(verdict: bytes, conversion: bytes) -> None:
    assert_hidden(told(lambda: verdicts.admission(verdict)))
    assert_hidden(told(lambda: verdicts.conversion(conversion)))


@given(texts(spoiled([OPERATION], NAMES) | spoiled(OPERATION, NAMES)))
def test_errors_about_value_patch_files_quote_no_value(text: bytes) -> None:
    assert_hidden(told(lambda: patches.parse_values_patch(text)))


@pytest.mark.slow
@example(f"it is {MARKER}: y".encode())
@example(json.dumps({"schedule": [{"crontab": "* * * * *", "timezone": [MARKER]}]}).encode())
@example(json.dumps(CONFIG | {"settings": {"timeout": MARKER}}).encode())
@given(texts(st.one_of(spoiled(CONFIG, NAMES | {"key", "field"}), spoiled(OLD_CONFIG, NAMES))))
def test_errors_about_hook_configurations_quote_no_value(text: bytes) -> None:
    assert_hidden(told(lambda: hook_config.parse("a.sh", text)))


SCHEMA = """
type: object
minProperties: 1
maxProperties: 9
required: [text]
properties:
  text: {type: string, minLength: 90, maxLength: 9, pattern: '^x$'}
  word: {type: string, enum: [a, b]}
  number: {type: number, minimum: 5, maximum: 9, multipleOf: 2}
  small: {type: integer, format: int32, exclusiveMinimum: true, minimum: 4}
  mail: {type: string, format: email}
  moment: {type: string, format: date-time}
  list: {type: array, minItems: 1, maxItems: 1, uniqueItems: true, items: {type: string, enum: [c]}}
  pair: {type: array, items: [{type: integer}], additionalItems: false}
  map: {type: object, additionalProperties: {type: boolean}}
  open: {type: object, patternProperties: {'^a': {type: integer}}, additionalProperties: false}
  either: {anyOf: [{type: integer, maximum: 1}, {type: string, maxLength: 1}]}
  one: {oneOf: [{type: string}, {type: string, minLength: 1}]}
  both: {allOf: [{type: string}, {enum: [d]}]}
  not: {not: {type: string}}
  needs: {type: object, dependencies: {a: [b]}}
"""
RULED = """
type: object
x-deckhouse-validations:
- {expression: "int(self.text) > 1", message: must be a number}
- {expression: "self.a[self.text] == 1", message: must be there}
- {expression: "self.text.size() < 1", message: must be empty}
- {expression: "duration(self.text) > duration('1s')", message: must be long}
"""
KEYS = ["text", "word", "number", "small", "mail", "moment", "list", "pair", "map", "open", "either", "one", "both"]
SECTION = st.dictionaries(st.sampled_from([*KEYS, "not", "needs", "unknown"]), SPOILED, min_size=1, max_size=4)


def schemas(directory: Path, config: str) -> Schemas:
    """Of a module with this schema for both documents."""
    (directory / "openapi").mkdir(exist_ok=True)
    for name in ("config-values.yaml", "values.yaml"):
        (directory / "openapi" / name).write_text(config)
    return load(directory, "dns")


@pytest.fixture(scope="module", params=[SCHEMA, RULED, None], ids=["keywords", "rules", "none"])
def judging(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Schemas]:
    """Schemas of one module."""
    return {"dns": schemas(tmp_path_factory.mktemp("m"), request.param) if request.param else Schemas()}


@example({f"it is {MARKER}": 1}, "yaml", False)
@given(st.one_of(SECTION, SPOILED), st.sampled_from(["raw", "yaml"]), st.booleans())
def test_errors_about_sections_quote_no_value(
    judging: dict[str, Schemas], section: Any, form: str, secret: bool
) -> None:
    """What a user writes into the ConfigMap or the Secret, flags included."""
    text = raw(section) if form == "raw" else yaml.safe_dump(section)
    config = parse_sections({"dns": text, "global": text})
    flags = parse_sections({"dnsEnabled": text, "dnsMaintenance": text})
    assert_hidden(" ".join([*config.problems.values(), *flags.problems.values()]))
    store = SectionStore({}, judging)
    empty = parse_sections({})
    adopted = store.adopt(empty if secret else config, config if secret else None, {"dns"})
    assert_hidden(" ".join(map(str, adopted.refused.values())))
    assert_hidden(told(lambda: store.for_helm("dns")))


@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "test"]), st.sampled_from(KEYS), SPOILED), max_size=3))
def test_errors_about_value_patches_quote_no_value(
    judging: dict[str, Schemas], asked: list[tuple[Any, str, Any]]
) -> None:
    store = SectionStore({"dns": {"text": MARKER, "list": [MARKER]}}, judging)
    for root in ("dns", "global", "other", "otherEnabled"):
        for suffix in ("", "/0", "/a/b", "/-"):
            operations = [ValuesOperation(op, f"/{root}/{key}{suffix}", value) for op, key, value in asked]
            assert_hidden(told(lambda wanted=operations: store.patch("dns", wanted)))  # type: ignore[misc]
            assert_hidden(told(lambda wanted=operations: store.patched_config("dns", wanted)))  # type: ignore[misc]


@given(SPOILED)
def test_errors_about_static_values_and_tool_files_quote_no_value(value: Any) -> None:
    assert_hidden(
        " ".join(to_config({"dns": value, "dnsEnabled": value}).problems.values()) if value is not None else ""
    )


@given(texts(spoiled(OBJECT, NAMES)))
def test_errors_about_rendered_templates_quote_no_value(text: bytes) -> None:
    assert_hidden(told(lambda: manifests({"a/templates/x.yaml": text.decode()}, "a", {})))


@given(SPOILED)
def test_a_document_is_described_without_its_values(value: Any) -> None:
    assert_hidden(redaction.described(value))


GO = st.sampled_from(
    [
        'Secret "a" is invalid: data.password: Invalid value: {0}: must be valid',
        'Secret "a" is invalid: [a: Duplicate value: {0}, b: Unsupported value: {0}: use "x", d: Not found: {0}]',
        ".spec.a: expected numeric (int or float), got &value.valueUnstructured{{Value:{0}}}",
        'conflict with "kubectl" using v1: .spec.tokens[={0}]',
    ]
)


@pytest.mark.slow
@settings(max_examples=several(300))
@given(GO, st.text(), LEAVES.filter(lambda leaf: isinstance(leaf, str)))
def test_refusals_of_the_api_server_quote_no_value(form: str, around: str, value: str) -> None:
    quoted = json.dumps(f"{around}{value}{around}".encode(errors="replace").decode(), ensure_ascii=False)
    assert_hidden(without_values(form.format(quoted), None))


@pytest.mark.slow
@given(st.text(), LEAVES.map(str))
def test_failures_of_filters_quote_no_value(around: str, value: str) -> None:
    for form in ("string ({0}) and number (5) cannot be added", "{0}", "Cannot index object with {0}"):
        assert_hidden(of_failure(form.format(json.dumps(around + value)), ".a"))
