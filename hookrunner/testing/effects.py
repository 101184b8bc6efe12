"""What a hook's operations do to the given objects: carried out on a sandbox of their own, by the code that carries
them out on a cluster, with the sandbox's HTTP API in between.

Given objects need not be complete: they are put in unchecked, with the API's defaults, which are not shown unless they
changed. A custom kind whose definition is not given is served as one that takes any fields. What hooks write is checked
as by a real API server.
"""

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import replace

import orjson

from hookrunner.engine.hook_executor import Applier
from hookrunner.errors import BadInput, PatchFailed
from hookrunner.jq.program import Jq
from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.objects import Objects
from hookrunner.metrics.hooks import HookMetrics
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.model.operations import ObjectOperation
from hookrunner.settings import KubeSettings
from hookrunner.testing.matching import plural
from hookrunner.testing.results import Effects
from kubesandbox.contents import Key, SandboxContents
from kubesandbox.errors import ObjectRefused
from kubesandbox.sandbox import Options, Sandbox, serving
from kubetypes.json_values import JSON

_SERVED_WITHIN = 1000
"""Turns of the loop in which a definition comes to be served."""

_SERVERS_OWN = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")
"""Metadata that differs from run to run; neither goldens nor diffs show it."""

_Objects = dict[Key, JSON]


async def compute_effects(objects: Sequence[JSON], operations: Sequence[ObjectOperation], jq: Jq) -> Effects:
    """Carry the operations out. Raises BadInput for a given object that no API server could have."""
    async with serving(Options(token=secrets.token_urlsafe())) as sandbox:
        try:
            await plant(sandbox.contents, objects, operations)
            given = {sandbox.contents.key(obj): obj for obj in objects}
        except ObjectRefused as error:
            raise BadInput(str(error)) from None
        before = _all(sandbox.contents)
        refusal = await carry_out(sandbox, _as_planted(sandbox.contents, objects, operations), jq)
        after = _all(sandbox.contents)
    touched = [key for key in sorted({*before, *after}) if before.get(key) != after.get(key)]

    def shown(key: Key, state: _Objects) -> JSON:
        if key not in state or key not in given:
            return _with_lasting_name(state.get(key))
        return _without_defaults(state[key], before[key], given[key])

    kept = [shown(key, after) for key in sorted(after) if key in given or key in touched]
    return Effects(kept, [(shown(key, before), shown(key, after)) for key in touched], refusal)


def _as_planted(
    contents: SandboxContents, objects: Sequence[JSON], operations: Sequence[ObjectOperation]
) -> list[ObjectOperation]:
    """Operations whose `version` is that of a given object mean the same object as it was planted, with a version of
    the sandbox's own; every other version is an old one, though the sandbox may have the same number."""
    planted, versions = contents.all(), {}
    for obj in objects:
        if version := obj["metadata"].get("resourceVersion"):
            key = contents.key(obj)
            versions[key.namespace, key.name, version] = planted[key]["metadata"]["resourceVersion"]
    return [
        replace(
            operation,
            version=versions.get((operation.namespace, operation.name, operation.version), f"old:{operation.version}"),
        )
        if operation.version
        else operation
        for operation in operations
    ]


async def carry_out(sandbox: Sandbox, operations: Sequence[ObjectOperation], jq: Jq) -> str:
    """Carry operations out on a sandbox; why one was refused, empty if all were done."""
    if not operations:
        return ""
    access = sandbox.access
    authority = (access.certificate or b"").decode()
    connection = Connection(sandbox.url, ca=authority, authorization=f"Bearer {access.token}")
    credentials = Credentials(KubeSettings(), connection)
    async with Client(credentials, Requests(Metrics(""))) as client:
        applier = Applier(Objects(client, Discovery(client), jq), HookMetrics())
        try:
            await applier.carry_out(operations, [])
        except PatchFailed as error:
            return str(error)
    return ""


async def plant(contents: SandboxContents, objects: Sequence[JSON], operations: Sequence[ObjectOperation]) -> None:
    """Put objects into a sandbox, with the kinds and namespaces of what operations write: definitions first, then
    namespaces, then the rest. Raises ObjectRefused."""
    written = [
        operation.body for operation in operations if isinstance(operation.body, dict) and "kind" in operation.body
    ]
    definitions = [obj for obj in objects if obj["kind"] == "CustomResourceDefinition"]
    for definition in definitions:
        contents.put(definition)
    for obj in (*objects, *written):
        if obj.get("apiVersion") and not await _wait_for_kind(contents, obj, definitions):
            contents.put(_definition(obj))
            await _wait_for_kind(contents, obj, [obj])
    for name in sorted({_namespace(obj) for obj in (*objects, *written)} - {""}):
        contents.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for obj in objects:
        contents.put(obj)


async def _wait_for_kind(contents: SandboxContents, obj: JSON, awaited: Sequence[JSON]) -> bool:
    """Wait until the kind is served, for a moment while definitions are being established. False if it is not."""
    for _ in range(_SERVED_WITHIN if awaited else 1):
        if contents.serves(obj):
            return True
        await asyncio.sleep(0)
    return False


def _namespace(obj: JSON) -> str:
    return str((obj.get("metadata") or {}).get("namespace") or "")


def _definition(obj: JSON) -> JSON:
    """For a custom kind of which nothing is known but one object."""
    group, _, version = obj["apiVersion"].rpartition("/")
    names = plural(obj, ())
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    served = {"name": version, "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    kind = obj["kind"]
    spec = {
        "group": group,
        "scope": "Namespaced" if _namespace(obj) else "Cluster",
        "names": {"kind": kind, "listKind": f"{kind}List", "plural": names, "singular": kind.lower()},
        "versions": [served],
        "conversion": {"strategy": "None"},
    }
    metadata = {"name": f"{names}.{group}"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


def _all(contents: SandboxContents) -> _Objects:
    return {key: _clean(obj) for key, obj in contents.all().items()}


def _clean(obj: JSON) -> JSON:
    """Keys sorted, as `kubectl get -o yaml` has them."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _SERVERS_OWN}
    return orjson.loads(orjson.dumps({**obj, "metadata": metadata}, option=orjson.OPT_SORT_KEYS))


def _with_lasting_name(obj: JSON) -> JSON:
    """What the API server makes of `generateName` differs from run to run."""
    metadata = obj["metadata"] if obj else {}
    prefix = metadata.get("generateName", "")
    if not prefix or not metadata["name"].startswith(prefix):
        return obj
    return {**obj, "metadata": {**metadata, "name": f"{prefix}?????"}}


def _without_defaults(state: JSON, planted: JSON, given: JSON) -> JSON:
    """An object without what planting it has filled in, as far as that is still the same."""
    match state, planted, given:
        case dict(), dict(), dict() | None:
            given = given or {}
            return {
                key: _without_defaults(value, planted.get(key), given.get(key))
                for key, value in state.items()
                if key in given or key not in planted or value != planted[key]
            }
        case list(), list(), list() if len(state) == len(planted) == len(given):
            return [_without_defaults(*items) for items in zip(state, planted, given, strict=True)]
    return state
