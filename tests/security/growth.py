"""Where documents of others enter, with the work that the event loop does on each, and documents that make it much.

`Entry.make(count)` is a document with so many items; `work` is one step of the loop. `most` is about the largest count
that is worked through there: beyond it the document is refused, or the work is done elsewhere (docs/security.md).
"""

import asyncio
import json
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from hookrunner.addons.instance_fields import read_instance
from hookrunner.engine.reviews.conversion_checks import check_answer
from hookrunner.errors import BadConfig, BadOutput, PackageError, RenderFailed
from hookrunner.hooks import condition_reports, metric_operations, patches, verdicts
from hookrunner.hooks.config import hook_config
from hookrunner.kube.refusals import without_values
from hookrunner.manifests.kustomization_files import check_kustomizations
from hookrunner.manifests.patches import apply_patches
from hookrunner.manifests.sourced_object import read_objects
from hookrunner.metrics.hooks import HookMetrics
from hookrunner.model.json_objects import JsonObjects
from hookrunner.model.operations import ValuesOperation
from hookrunner.model.sourced_objects import SourcedObject
from hookrunner.packages import channels, package_files
from hookrunner.releases.records import record_encoding
from hookrunner.values import config_sections
from hookrunner.values.patches import Patches
from hookrunner.values.schemas import schema_files
from hookrunner.web import review_documents
from kubetypes.json_values import JSON
from tests.addons.conftest import addon, instance_of
from tests.fakes.cost import cpu_seconds

REFUSALS = (BadConfig, BadOutput, PackageError, RenderFailed)
"""A refusal is work, too."""


@dataclass(frozen=True, slots=True)
class Entry:
    """`first` is the count of a small document; others have ten and a hundred times as many items."""

    name: str
    make: Callable[[int], Any]
    work: Callable[[Any], object]
    first: int
    most: int

    def seconds(self, count: int, tries: int = 3) -> Iterator[float]:
        """Of CPU time, one try after the other."""
        document = self.make(count)
        return (cpu_seconds(lambda: _done(self.work, document)) for _ in range(tries))

    def memory(self, count: int) -> int:
        """Bytes that the work takes at most, beside the document."""
        document = self.make(count)
        tracemalloc.start()
        try:
            _done(self.work, document)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def _done(work: Callable[[Any], object], document: Any) -> None:
    with suppress(*REFUSALS):
        work(document)


async def longest_step(work: Awaitable[object]) -> float:
    """Seconds of CPU time for which the event loop can do nothing else at most."""
    steps, longest = work.__await__(), 0.0
    while True:
        begin = time.thread_time()
        try:
            waits_for = next(steps)
        except StopIteration:
            return max(longest, time.thread_time() - begin)
        longest = max(longest, time.thread_time() - begin)
        if waits_for is None:
            await asyncio.sleep(0)
        else:
            waits_for._asyncio_future_blocking = False  # `wait` blocks on it again
            await asyncio.wait({waits_for})


def unit() -> float:
    """Seconds of CPU time to read 1 MiB of objects as JSON."""
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a-pod", "labels": {"app": "web"}}, "number": 1}
    text = orjson.dumps([obj] * ((1 << 20) // len(orjson.dumps(obj))))
    return min(cpu_seconds(lambda: orjson.loads(text)) for _ in range(9))


def _text(value: JSON) -> bytes:
    return orjson.dumps(value)


def _lines(values: list[JSON]) -> bytes:
    return b"\n".join(map(orjson.dumps, values))


# ── instances of addons ───────────────────────────────────────────────────────────────────────────────────────────


def _deployment(env: JSON, **fields: JSON) -> JSON:
    container = {"name": "web", "env": env, **fields}
    spec = {"template": {"spec": {"containers": [container]}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def _variables(count: int) -> list[JSON]:
    return [{"name": f"E{number}", "value": "x"} for number in range(count)]


def _refused_patch(count: int) -> list[JSON]:
    env = _variables(count)
    return [_deployment(env, **{"$setElementOrder/env": [{"name": one["name"]} for one in reversed(env)]})]


def _patch(items: list[JSON]) -> object:
    return apply_patches([SourcedObject("a.yaml", _deployment([]))], items)


def _schema() -> Any:
    """A schema of a section with the kinds of checks that cost something."""
    way = {"oneOf": [{"type": "string"}, {"type": "integer", "minimum": 5}]}
    item = {"type": "object", "properties": {"name": {"type": "string", "pattern": "^[a-z]+$"}, "port": way}}
    lists = {"type": "array", "items": item, "uniqueItems": True}
    schema = {"type": "object", "properties": {"list": lists, "map": {"type": "object", "additionalProperties": way}}}
    with TemporaryDirectory() as directory:
        (Path(directory) / "openapi").mkdir()
        (Path(directory) / "openapi/config-values.yaml").write_text(json.dumps(schema))
        return schema_files.load(Path(directory), "foo").config


SCHEMA = _schema()


def _valid(count: int) -> JSON:
    return {"list": [{"name": "a" * (number % 50 + 1), "port": number + 5} for number in range(count // 3)]}


def _unknown(count: int) -> JSON:
    return {f"key{number}": number for number in range(count)}


# ── hooks ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _appends(count: int) -> list[ValuesOperation]:
    return [ValuesOperation("add", "/foo/list/-", number) for number in range(count)]


def _keys(count: int) -> list[ValuesOperation]:
    return [ValuesOperation("add", f"/foo/map/key{number}", number) for number in range(count)]


def _toggles(count: int) -> list[ValuesOperation]:
    steps = [ValuesOperation("remove", "/foo/map/key0", None), ValuesOperation("add", "/foo/map/key0", {})]
    return [*_keys(count // 2), *steps * (count // 4)]


def _patch_values(operations: list[ValuesOperation]) -> object:
    document, kept = Patches().then({"foo": {"list": [1], "map": {}}}, operations, "foo")
    return document, kept.reapplied({"foo": {"list": [1], "map": {}}})


def _metrics(count: int) -> bytes:
    return _lines([{"name": "a", "action": "set", "value": 1, "labels": {"n": str(number)}} for number in range(count)])


def _step_of_metrics(text: bytes) -> object:
    return next(HookMetrics().apply_in_steps("a.sh", metric_operations.parse(text)))


def _bindings(count: int) -> bytes:
    includes = ["missing-1", "missing-2"]
    bindings = [
        {"name": f"binding-{number}", "kind": "Pod", "includeSnapshotsFrom": includes} for number in range(count)
    ]
    return _text({"configVersion": "v1", "kubernetes": bindings})


def _group(count: int) -> bytes:
    bindings = [{"name": f"binding-{number}", "kind": "Pod", "group": "g"} for number in range(count)]
    return _text({"configVersion": "v1", "kubernetes": bindings})


# ── reviews, packages, releases, refusals ─────────────────────────────────────────────────────────────────────────


def _review(count: int) -> bytearray:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"env": _variables(count)}}
    request = {"uid": "a", "object": pod}
    return bytearray(_text({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}))


def _tab(number: int, version: str = "v1", size: int = 10) -> JSON:
    metadata = {"name": f"tab-{number}", "namespace": "default", "uid": str(number), "labels": {"app": "web"}}
    return {"apiVersion": f"e/{version}", "kind": "Tab", "metadata": metadata, "spec": {"text": "x" * size}}


def _conversion(count: int, size: int = 10) -> bytearray:
    request = {"uid": "a", "desiredAPIVersion": "e/v2", "objects": [_tab(number, size=size) for number in range(count)]}
    review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    return bytearray(_text(review))


def _objects(count: int, size: int = 10) -> tuple[JsonObjects, JsonObjects]:
    sent, returned = (
        JsonObjects.of(_tab(number, version, size) for number in range(count)) for version in ("v1", "v2")
    )
    return sent, returned


def _channel(count: int) -> channels.Channel:
    return channels.Channel("stable", tuple(channels.ChannelEntry(f"1.2.{number}") for number in range(count)), ())


def _versions(count: int) -> str:
    rows = [f"- {{version: 1.2.{number}, kubernetesVersion: '>=1.28 || ~1.2'}}" for number in range(count)]
    return "\n".join(["manifests:", *rows])


def _checksums(count: int) -> bytes:
    return b"".join(b"%064x  a%d.yaml\n" % (number, number) for number in range(count))


def _config_map(count: int) -> str:
    rows = "\n".join(f"  key{number}: value-{number}" for number in range(count))
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n{rows}\n"


def _kustomization(count: int) -> dict[str, bytes]:
    return {"kustomization.yaml": "\n".join(["resources:", *(f"- a{number}.yaml" for number in range(count))]).encode()}


def _refusal(count: int) -> tuple[str, JSON]:
    words = [f"value-{number}" for number in range(count)]
    return f"admission webhook denied the request: {' '.join(words)}", {"kind": "Deployment", "spec": {"env": words}}


def _release(count: int) -> bytes:
    document = {"name": "a", "namespace": "b", "version": 1, "info": {"status": "deployed"}}
    return record_encoding.packed({**document, "manifest": f"---\n{_config_map(count)}"}).encode()


# ── everything ────────────────────────────────────────────────────────────────────────────────────────────────────


_DELETE = {"operation": "Delete", "kind": "Pod", "name": "a"}
_CONDITION = {"type": "Fine", "status": "True"}


def _choose_version(channel: channels.Channel) -> object:
    return channels.choose_entry(channel, "coredns", "v1.33.0")


def _read_instance(document: JSON) -> object:
    return read_instance(addon(), document)


ENTRIES = (
    Entry("patch that is refused", _refused_patch, _patch, 50, 4_000),
    Entry("patch that merges", lambda n: [_deployment(_variables(n))] * 2, _patch, 50, 2_400),
    Entry("small patches", lambda n: [_deployment(_variables(20))] * n, _patch, 1, 100),
    Entry("patches of a spec", lambda n: instance_of({"patches": [{"a": "x" * 2_500}] * n}), _read_instance, 1, 100),
    Entry("spec with keys", lambda n: instance_of(_unknown(n)), _read_instance, 100, 5_000),
    Entry("spec with a text", lambda n: instance_of({"a": "x" * n}), _read_instance, 10_000, 1 << 20),
    Entry("section, valid", _valid, SCHEMA.problems, 60, 10_000),
    Entry("section, unknown keys", _unknown, SCHEMA.problems, 100, 25_000),
    Entry("YAML of a section", lambda n: {"foo": "l:\n" + "- a\n" * n}, config_sections.parse, 100, 12_000),
    Entry("patch of values: appends", _appends, _patch_values, 50, 5_000),
    Entry("patch of values: keys", _keys, _patch_values, 50, 5_000),
    Entry("patch of values: set and removed", _toggles, _patch_values, 50, 5_000),
    Entry("metrics", _metrics, _step_of_metrics, 10, 1_000),
    Entry("metrics, unknown actions", lambda n: _lines([{"a": 1}] * n), metric_operations.parse, 100, 8_000),
    Entry("object patches", lambda n: _lines([_DELETE] * n), patches.parse, 10, 1_000),
    Entry("object patch, unknown keys", lambda n: _text(_unknown(n)), patches.parse, 50, 4_000),
    Entry("answer to a review", lambda n: _text({"allowed": True, **_unknown(n)}), verdicts.admission, 50, 4_000),
    Entry("conditions", lambda n: _lines([_CONDITION] * n), condition_reports.parse, 10, 1_500),
    Entry("--config, missing includes", _bindings, lambda text: hook_config.parse("h", text), 10, 2_500),
    Entry("--config, one group", _group, lambda text: hook_config.parse("h", text), 25, 2_500),
    Entry("review", _review, review_documents.parse_admission, 400, 41_000),
    Entry("conversion review", _conversion, review_documents.parse_conversion, 60, 6_000),
    Entry("objects of a conversion", _objects, lambda both: check_answer("h", "e/v2", *both), 40, 4_000),
    Entry("channel", _versions, lambda text: channels.parse_channel("stable", text), 10, 900),
    Entry("version of a channel", _channel, _choose_version, 40, 6_000),
    Entry("SHA256SUMS", _checksums, lambda text: package_files.parse_checksums("a 1", text), 10, 1_000),
    Entry("plain files", lambda n: {"a.yaml": _config_map(n)}, read_objects, 25, 2_500),
    Entry("kustomization", _kustomization, check_kustomizations, 25, 4_000),
    Entry("record of a release", _release, record_encoding.unpacked, 1_000, 5_000),
    Entry("refusal of the API server", _refusal, lambda told: without_values(*told), 500, 30_000),
)
