"""One conversion review: which objects each hook run gets, and what may come back. Level: pure."""

import copy
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.engine.reviews.chains import Chains, Step, completed
from hookrunner.engine.reviews.conversion import convert
from hookrunner.errors import ReviewFailed
from hookrunner.model.bindings import ConversionBinding, Hook, HookConfig
from hookrunner.model.json_objects import JsonObjects
from hookrunner.model.reviews import ConversionRequest, ConversionReview, Converted
from kubetypes.json_values import JSON
from tests.tables import each

CRD = "crontabs.example.com"
Change: TypeAlias = Callable[[list[JSON]], list[JSON]]


def crontab(name: str, version: str = "v1", **metadata: object) -> JSON:
    there = {"name": name, "namespace": "default", "uid": f"uid-of-{name}", **metadata}
    return {"apiVersion": completed(version, CRD), "kind": "CronTab", "metadata": there, "spec": {"size": 1}}


def as_is(objects: list[JSON]) -> list[JSON]:
    return objects


@dataclass
class Hooks:
    """Hooks that convert as their rules say and then change their answer; `runs` is what each has been given."""

    rules: Sequence[str] = ("v1->v2", "v2->v3")
    change: Change = as_is
    runs: list[tuple[str, list[str | None]]] = field(default_factory=list)

    async def convert(self, objects: Sequence[JSON], desired: str = "v3") -> Sequence[JSON]:
        texts = await convert(review_of(objects, desired), self.chains(), self._run)
        return list(map(orjson.loads, texts))

    def chains(self) -> Chains:
        pairs = [rule.split("->") for rule in self.rules]
        binding = ConversionBinding("up", CRD, tuple((source, target) for source, target in pairs))
        return Chains([Hook("crontabs.sh", Path("/h"), HookConfig("v1", conversions=(binding,)))])

    async def _run(self, step: Step, objects: JsonObjects, review: ConversionReview) -> Converted:
        answer = list(map(orjson.loads, objects))
        assert {obj["apiVersion"] for obj in answer} == {completed(step.source, CRD)}
        assert review.request.desired == completed("v3", CRD)
        self.runs.append((f"{step.source}->{step.target}", [obj["metadata"].get("name") for obj in answer]))
        for obj in answer:
            obj["apiVersion"] = completed(step.target, CRD)
        return Converted(JsonObjects.of(self.change(answer)))


def review_of(objects: Sequence[JSON], desired: str = "v3") -> ConversionReview:
    request = {"uid": "1", "desiredAPIVersion": completed(desired, CRD), "objects": objects}
    return ConversionReview(CRD, "v1", ConversionRequest.of(request), 0.0)


async def test_objects_go_through_all_steps_in_one_run_each() -> None:
    hooks = Hooks()
    converted = await hooks.convert([crontab("a"), crontab("b")])
    assert converted == [crontab("a", "v3"), crontab("b", "v3")]
    assert hooks.runs == [("v1->v2", ["a", "b"]), ("v2->v3", ["a", "b"])]


async def test_objects_of_several_versions_meet_on_the_way_and_keep_their_order() -> None:
    """The predecessor's hooks were sent everything in every step: here each gets what its rule is for."""
    hooks = Hooks()
    converted = await hooks.convert([crontab("a", "v2"), crontab("b", "v3"), crontab("c"), crontab("d", "v2")])
    assert [obj["metadata"]["name"] for obj in converted] == ["a", "b", "c", "d"]
    assert {obj["apiVersion"] for obj in converted} == {"example.com/v3"}
    assert hooks.runs == [("v1->v2", ["c"]), ("v2->v3", ["a", "c", "d"])]


@each("objects", [[], [crontab("a", "v3")]], ids=["nothing", "there already"])
async def test_what_needs_no_conversion_succeeds_without_a_hook(objects: list[JSON]) -> None:
    """In shell-operator this was a failure."""
    hooks = Hooks(rules=())
    assert await hooks.convert(objects) == objects
    assert hooks.runs == []


async def test_a_request_without_a_way_runs_no_hook_at_all() -> None:
    hooks = Hooks()
    with pytest.raises(ReviewFailed, match=r"converts crontabs.example.com from example.com/v9 to example.com/v3"):
        await hooks.convert([crontab("a"), crontab("b", "v9")])
    assert hooks.runs == []


async def test_the_request_stays_as_it_came() -> None:
    objects = [crontab("a", labels={"x": "y"})]
    before = copy.deepcopy(objects)
    await Hooks(change=with_metadata(labels={"new": "label"}, finalizers=[])).convert(objects)
    assert objects == before


def with_metadata(**values: object) -> Change:
    """Every object comes back with these in its metadata."""

    def change(objects: list[JSON]) -> list[JSON]:
        for obj in objects:
            obj["metadata"].update(values)
        return objects

    return change


@each(
    ("returned", "kept"),
    [
        ({"labels": {"a": "2"}}, {"labels": {"a": "2"}, "annotations": {"b": "1"}}),
        ({"labels": None, "annotations": {"c": "d"}}, {"annotations": {"c": "d"}}),
        ({"labels": {}, "annotations": None}, {}),
        (
            {"finalizers": [], "generation": 9, "selfLink": "/x"},
            {"labels": {"a": "1"}, "annotations": {"b": "1"}},
        ),
    ],
    ids=["labels changed", "labels null", "both gone", "the rest is not the hook's"],
)
async def test_of_the_metadata_only_labels_and_annotations_change(returned: JSON, kept: JSON) -> None:
    request_object = crontab("a", labels={"a": "1"}, annotations={"b": "1"}, finalizers=["f"], generation=3)
    (obj,) = await Hooks(change=with_metadata(**returned)).convert([request_object])
    assert obj["metadata"] == crontab("a", finalizers=["f"], generation=3)["metadata"] | kept


async def test_metadata_that_a_hook_left_out_is_restored_before_the_next_step() -> None:
    def forget(objects: list[JSON]) -> list[JSON]:
        assert all(obj["metadata"]["ownerReferences"] for obj in objects)
        for obj in objects:
            del obj["metadata"]["ownerReferences"]
        return objects

    request_object = crontab("a", ownerReferences=[{"name": "o"}])
    (obj,) = await Hooks(change=forget).convert([request_object])
    assert obj["metadata"] == request_object["metadata"]


def changing(key: str, value: object) -> Change:
    """The first object comes back with another value."""

    def change(objects: list[JSON]) -> list[JSON]:
        objects[0][key] = value
        return objects

    return change


def in_metadata(key: str, value: object) -> Change:
    def change(objects: list[JSON]) -> list[JSON]:
        objects[0]["metadata"][key] = value
        return objects

    return change


WHO = r"^hook 'crontabs.sh', binding 'up', v1→v2: "


@each(
    ("change", "message"),
    [
        (lambda objs: objs[1:], r"did not come back \(2 sent, 1 returned\): CronTab default/a$"),
        (lambda objs: [], r"did not come back \(2 sent, 0 returned\): CronTab default/a, CronTab default/b$"),
        (lambda objs: [*objs, crontab("c", "v2")], "was never sent, or has another .* now: CronTab default/c$"),
        (lambda objs: [*objs, objs[1]], "came back more than once: CronTab default/b$"),
        (lambda objs: [objs[0], copy.deepcopy(objs[0])], "CronTab default/b; came back more than once: CronTab def"),
        (in_metadata("name", "x"), "came back with metadata.name x: CronTab default/a$"),
        (in_metadata("namespace", "x"), "came back with metadata.namespace x: CronTab default/a$"),
        (in_metadata("namespace", None), "came back with metadata.namespace None: CronTab default/a$"),
        (in_metadata("uid", "x"), "CronTab default/a; was never sent, or has another name, namespace or uid now: Cr"),
        (in_metadata("uid", ["x"]), "was never sent"),
        (in_metadata("labels", {"a": 1}), "came back with metadata.labels that are no map of strings: CronTab def"),
        (in_metadata("annotations", ["a"]), "came back with metadata.annotations that are no map of strings: Cron"),
        (changing("apiVersion", "example.com/v3"), "came back in version example.com/v3, not example.com/v2: Cron"),
        (changing("apiVersion", "v2"), "came back in version v2, not example.com/v2: CronTab default/a$"),
        (changing("kind", "Cron"), "came back with kind Cron: CronTab default/a$"),
        (changing("kind", None), "came back with kind None: CronTab default/a$"),
        (changing("metadata", None), "an object without `metadata` or `apiVersion`: number 1$"),
        (changing("apiVersion", None), "an object without `metadata` or `apiVersion`: number 1$"),
        (lambda objs: [objs[0], None], "not an object: number 2$"),
    ],
)
async def test_what_must_not_come_back_is_refused_with_its_hook_and_object(change: Change, message: str) -> None:
    with pytest.raises(ReviewFailed, match=WHO + ".*" + message):
        await Hooks(change=change).convert([crontab("a"), crontab("b")])


@pytest.mark.slow
async def test_of_many_objects_a_few_are_named() -> None:
    hooks = Hooks(change=lambda objects: [changing("kind", "Cron")([obj])[0] for obj in objects])
    with pytest.raises(ReviewFailed, match="Cron: CronTab default/0, CronTab default/1, CronTab default/2, and 4,997"):
        await hooks.convert([crontab(str(number)) for number in range(5000)])


async def test_three_objects_are_all_named() -> None:
    hooks = Hooks(change=lambda objects: [])
    with pytest.raises(ReviewFailed, match=r"CronTab default/a, CronTab default/b, CronTab default/c$"):
        await hooks.convert([crontab(name) for name in "abc"])


async def test_of_many_complaints_the_message_names_a_few() -> None:
    hooks = Hooks(change=lambda objects: [changing("kind", number)([obj])[0] for number, obj in enumerate(objects)])
    with pytest.raises(ReviewFailed, match=r"kind 2: CronTab default/2; and 7 more$"):
        await hooks.convert([crontab(str(number)) for number in range(10)])


async def test_a_later_step_is_named_if_it_is_the_one() -> None:
    def forget(objects: list[JSON]) -> list[JSON]:
        return [] if objects[0]["apiVersion"].endswith("v3") else objects

    with pytest.raises(ReviewFailed, match="v2→v3: did not come back"):
        await Hooks(change=forget).convert([crontab("a")])


@each(
    ("change", "metadata"),
    [
        (lambda objs: objs[::-1], [{"name": "a", "namespace": "x"}, {"name": "a", "namespace": "y"}]),
        (lambda objs: objs[::-1], [{"name": "a", "namespace": "x"}, {"name": "b", "namespace": "x"}]),
        (lambda objs: objs[::-1], [{"name": "a"}, {"name": "b", "namespace": None}]),
        (as_is, [{"generateName": "a-"}, {"generateName": "b-"}]),
    ],
    ids=["namespaces", "names", "of the whole cluster", "not yet named"],
)
async def test_objects_without_uid_are_recognized_by_name(change: Change, metadata: list[JSON]) -> None:
    request_objects = [{"apiVersion": "example.com/v2", "kind": "Tab", "metadata": entry} for entry in metadata]
    converted = await Hooks(change=change).convert(request_objects)
    assert [obj["metadata"] for obj in converted] == metadata


async def test_no_namespace_may_be_written_in_several_ways() -> None:
    request_object = {"apiVersion": "example.com/v2", "kind": "Tab", "metadata": {"name": "a"}}
    (obj,) = await Hooks(change=in_metadata("namespace", "")).convert([request_object])
    assert obj["metadata"] == {"name": "a"}


async def test_an_object_without_a_name_is_named_by_what_it_will_get() -> None:
    request_object = {"apiVersion": "example.com/v2", "kind": "Tab", "metadata": {"generateName": "a-"}}
    with pytest.raises(ReviewFailed, match=r"kind Cron: Tab a-$"):
        await Hooks(change=changing("kind", "Cron")).convert([request_object])


async def test_a_cluster_scoped_object_is_named_without_a_namespace() -> None:
    request_object = {"apiVersion": "example.com/v2", "kind": "Tab", "metadata": {"name": "a"}}
    with pytest.raises(ReviewFailed, match=r"kind Cron: Tab a$"):
        await Hooks(change=changing("kind", "Cron")).convert([request_object])


async def test_a_hooks_own_message_is_passed_on() -> None:
    async def refuse(step: Step, objects: JsonObjects, review: ConversionReview) -> Converted:
        return Converted(failure="size must be a number")

    with pytest.raises(ReviewFailed, match=WHO + "size must be a number$"):
        await convert(review_of([crontab("a")]), Hooks().chains(), refuse)


@each("obj", ["x", {"metadata": {}}, {"apiVersion": "example.com/v1"}])
async def test_a_request_with_something_else_than_objects_is_a_bad_one(obj: JSON) -> None:
    with pytest.raises(ReviewFailed, match=r"^the request: .*: number 2$") as refusal:
        await Hooks().convert([crontab("a"), obj])
    assert refusal.value.code == 400


@given(st.lists(st.sampled_from(["v1", "v2", "v3"]), max_size=30), st.randoms(use_true_random=False))
async def test_any_mixture_comes_back_in_its_order_whatever_the_hooks_order(
    versions: list[str], chance: random.Random
) -> None:
    hooks = Hooks(change=lambda objects: chance.sample(objects, len(objects)))
    converted = await hooks.convert([crontab(f"n{number}", version) for number, version in enumerate(versions)])
    assert converted == [crontab(f"n{number}", "v3") for number in range(len(versions))]
    early = sum(version == "v1" for version in versions)
    late = sum(version != "v3" for version in versions)
    assert [len(names) for _, names in hooks.runs] == [count for count in (early, late) if count]


@pytest.mark.slow
async def test_objects_of_megabytes_are_converted_as_small_ones() -> None:
    hooks = Hooks(change=lambda objects: objects[::-1])
    objects = [crontab(f"n{number}", f"v{number % 3 + 1}") | {"text": "x" * 3_000} for number in range(900)]
    assert await hooks.convert(objects) == [obj | {"apiVersion": "example.com/v3"} for obj in objects]
    assert [len(names) for _, names in hooks.runs] == [300, 600]


async def test_what_is_wrong_with_objects_of_megabytes_is_reported() -> None:
    with pytest.raises(ReviewFailed, match=r"v1→v2: came back with kind Cron: CronTab"):
        await Hooks(change=changing("kind", "Cron")).convert([crontab("a") | {"text": "x" * 3_000_000}])
