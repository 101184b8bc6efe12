"""What the engine's schemas have, functions can reach: bindings, what a run gives, what its answer may ask for.

Level: pure."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

import hookrunner.hooks
from hookrunner.hooks.config.hook_config import parse
from hookrunner.hooks.config.schema import V1_OF, HookKind
from hookrunner.sdk import After, Deny, Hook, HookFailed, Review, ref
from hookrunner.sdk.tasks import Task
from hookrunner.sdk.testing import run
from kubetypes.json_values import JSON

SCHEMAS = Path(hookrunner.hooks.__file__).parent
ANSWER = json.loads((SCHEMAS / "answer.schema.json").read_text())
RUN = json.loads((SCHEMAS / "run.schema.json").read_text())
WEB, ITEM = ref("v1/Service", "web", "shop"), {"op": "remove", "path": "/a"}
OTHER_WORDS = {"metrics[].add", "metrics[].set"}
"""Short forms of what has an action."""
OF_CARRIERS = {"id", "outcome", "message"}
"""What is not said by functions, but by what they raise: `tests/sdk/test_carriers.py`."""
OF_LINES = {"id"}


def hook_of_everything() -> Hook:
    hook = Hook(execution_burst=1, execution_min_interval="1s")
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["*"]}]
    hook.startup()(lambda task: _change_everything(task))
    hook.schedule("* * * * *")(_do_nothing)
    hook.on("v1/Pod")(_come_back)
    hook.validate("a.example.com", rules=rules)(_refuse)
    hook.mutate("b.example.com", rules=rules)(lambda: [ITEM])
    hook.convert("c.example.com", "v1", "v2")(_leave)
    hook.convert("c.example.com", "v2", "v1")(_fail)
    return hook


def _do_nothing() -> None: ...


def _come_back() -> After:
    return After(seconds=1)


def _leave(obj: JSON) -> None: ...


def _refuse(review: Review) -> None:
    review.warn("a warning")
    review.annotate("key", "text")
    raise Deny("refused", 400)


def _fail(obj: JSON) -> None:
    raise HookFailed("no way back")


def _change_everything(task: Task) -> None:
    cluster, metrics, values = task.cluster, task.metrics, task.values
    cluster.create(WEB)
    cluster.create_if_not_exists(WEB)
    cluster.create_or_update(WEB)
    cluster.apply(WEB)
    for cascade in ("foreground", "background", "orphan"):
        cluster.delete(WEB, cascade, uid="1", resource_version="2")
    cluster.jq(WEB, ".", ignore_missing=True)
    cluster.merge(WEB, {}, subresource="status", ignore_hook_error=True)
    cluster.json(WEB, [ITEM])
    metrics.set("a", 1, {"b": "c"}, group="g")
    metrics.add("d")
    metrics.observe("e", 1, [1, 2])
    metrics.expire("g")
    for some in (values, task.config_values):
        some.set("a", 1)
        some.test("a", 1)
        some.remove("a")
    for status in ("True", "False", "Unknown"):
        task.conditions.set("Ready", status, "Reason", "message", healthy=False)
    task.recycle = True


def answers() -> list[JSON]:
    hook, old = hook_of_everything(), {"apiVersion": "example.com/v1", "kind": "C", "metadata": {}}
    new = old | {"apiVersion": "example.com/v2"}
    return [
        run(hook, "onStartup", event="Startup"),
        run(hook, "_come_back"),
        run(hook, "a.example.com", event="CREATE", object=WEB),
        run(hook, "b.example.com", event="UPDATE", object=WEB),
        run(hook, "c.example.com", event="Conversion", objects=[old], to="v2"),
        run(hook, "c.example.com", event="Conversion", objects=[new], to="v1"),
    ]


def in_schema(schema: JSON, path: str = "") -> Iterator[str]:
    """Each property, and each word that one may be."""
    schema = ANSWER["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    for word in schema.get("enum", ()):
        yield f"{path}={word}"
    for key, inner in schema.get("properties", {}).items():
        yield f"{path}.{key}".lstrip(".")
        yield from in_schema(inner, f"{path}.{key}".lstrip("."))
    if isinstance(schema.get("items"), dict):
        yield from in_schema(schema["items"], f"{path}[]")


def in_document(value: Any, path: str = "") -> Iterator[str]:
    yield f"{path}={value}"
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key}".lstrip(".")
            yield from in_document(inner, f"{path}.{key}".lstrip("."))
    if isinstance(value, list):
        for inner in value:
            yield from in_document(inner, f"{path}[]")


def test_functions_can_ask_for_all_that_an_answer_may_have() -> None:
    reached = {place for answer in answers() for place in in_document(answer)}
    missing = set(in_schema(ANSWER)) - reached - OTHER_WORDS
    assert {place for place in missing if place.partition("=")[0] not in OF_CARRIERS} == set()


def test_answers_are_as_the_schema_says() -> None:
    validator = Draft202012Validator(ANSWER)
    assert [error.message for answer in answers() for error in validator.iter_errors(answer)] == []


def test_functions_are_given_all_that_a_run_has() -> None:
    given = {key: [key] if key == "contexts" else {"is": key} for key in RUN["properties"]}
    task = Task(given)
    parts = [*vars(task).values(), task.values.all, task.config_values.all]
    assert [key for key in RUN["properties"] if given[key] not in parts and key not in OF_LINES] == []


def test_each_binding_of_the_configuration_has_its_decorator() -> None:
    everything = hook_of_everything()
    for decorator in (
        "before_all",
        "after_all",
        "before_helm",
        "after_helm",
        "before_delete_helm",
        "after_delete_helm",
    ):
        getattr(everything, decorator)(order=3)(lambda: None)
    keys = {key for table in V1_OF.values() for key in table.keys}
    assert everything.config.keys() == keys


def test_the_configuration_is_accepted() -> None:
    assert parse("all.py", json.dumps(hook_of_everything().config).encode(), HookKind.PLAIN).version == "v1"
