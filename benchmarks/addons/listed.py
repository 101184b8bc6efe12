"""The list of addons against a hook that watches the same objects with a filter: memory and requests.

Both begin with all objects, which are of kinds of their own, so that no other objects are watched. The hook has a
binding for each kind, whose filter takes what the list shows of an object; it keeps no full objects.
"""

import asyncio
import re
import time
from contextlib import AbstractContextManager, suppress
from typing import Any

from benchmarks import hooks
from benchmarks.cluster import Refused
from benchmarks.programs import LIMIT, Program, Running, TookTooLong, running
from benchmarks.scenarios import Bed, Figures
from benchmarks.watching import disappears

_GROUP, _ADDONS = "listed.example.com", 10
_OWN = "/apis/discovery.addons.k8s.io/v1alpha1/addons"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_FILTER = "{name: .metadata.name, labels: .metadata.labels, conditions: .status.conditions}"
_REQUESTS = re.compile(r'kubernetes_client_request_latency_seconds_count\{.*url="([^"]*)"')
_CONDITIONS = [
    {"type": kind, "status": "True", "reason": f"{kind}Reached", "message": f"the object is {kind.lower()} ".ljust(80)}
    for kind in ("Ready", "Available", "Synced")
]


async def listed(bed: Bed, program: Program) -> Figures:
    """With so many labelled objects of so many kinds: resident memory of the `hook` and of the `list`, both started
    when all exists, and their `ratio`; the requests that are about these objects (`*_requests`), and their ratio
    (`asked`); and how many more the list makes for its own kind (`own`)."""
    kinds, objects = bed.sizes.listed
    names = [f"listed{number}s" for number in range(kinds)]
    namespace = await bed.new_namespace()
    await _fill(bed, namespace, names, objects // kinds)
    figures: Figures = {}
    with _start_list(bed, program, names) as operator:  # it writes what the next one finds
        await _wait_for_list(bed, operator, objects)
    with _start_list(bed, program, names) as operator:
        await asyncio.sleep(bed.sizes.idle_seconds)
        figures |= await _measure(operator, "list")
    with bed.run(program, {"hook.sh": hooks.writes_its_start(_hook(names))}) as operator:
        await operator.wait(1, "run")
        figures |= await _measure(operator, "hook")
    await _clear(bed, names)
    ratios = {"ratio": ("list", "hook"), "asked": ("list_requests", "hook_requests")}
    return figures | {name: [figures[a][0] / figures[b][0]] for name, (a, b) in ratios.items()}


async def _measure(operator: Running, word: str) -> Figures:
    memory = (await operator.steady_memory()).total
    found = [(_REQUESTS.search(name), value) for name, value in await operator.metrics()]
    requests = [(url[1], value) for url, value in found if url]
    own = sum(value for url, value in requests if "discovery.addons" in url or "customresourcedefinitions" in url)
    return {word: [memory], f"{word}_requests": [sum(value for _, value in requests) - own], f"{word}_own": [own]}


def _start_list(bed: Bed, program: Program, names: list[str]) -> AbstractContextManager[Running]:
    variables = {
        "HOOKRUNNER_DISCOVERY": "true",
        "HOOKRUNNER_DISCOVERY_KINDS": ",".join(f"{name}.{_GROUP}" for name in names),
    }
    return running(program, bed.new_directory(), bed.cluster.kubeconfig, {}, variables)


def _hook(names: list[str]) -> dict[str, Any]:
    """One run for all bindings."""
    more = {"jqFilter": _FILTER, "keepFullObjectsInMemory": False, "group": "all"}
    return {
        "configVersion": "v1",
        "kubernetes": [{"name": name, "kind": f"{name}.{_GROUP}"} | more for name in names],
    }


async def _wait_for_list(bed: Bed, operator: Running, objects: int) -> None:
    """Wait until every object is a reference. Raises TookTooLong."""
    deadline, listed_objects = time.monotonic() + LIMIT, -1
    while listed_objects != objects:
        if time.monotonic() > deadline:
            raise TookTooLong(f"{operator.program.name}: {listed_objects} objects are listed after {LIMIT:g} s")
        with suppress(Refused):
            items = ((await bed.cluster.read(_OWN)) or {"items": ()})["items"]
            refs = [len(item.get("status", {}).get("components", {}).get("refs", ())) for item in items]
            listed_objects = sum(refs)
        await asyncio.sleep(0.1)


async def _fill(bed: Bed, namespace: str, names: list[str], each: int) -> None:
    """Define the kinds, and create the objects."""
    for name in names:
        await bed.cluster.post(_DEFINITIONS, _definition(name))
    for name in names:
        path = f"/apis/{_GROUP}/v1/namespaces/{namespace}/{name}"
        await _wait_for_kind(bed, path)
        await bed.cluster.post_all([(path, _object(name, number)) for number in range(each)])


async def _wait_for_kind(bed: Bed, path: str) -> None:
    """Wait until a kind is served; one that is new is refused with 429 at first. Raises TookTooLong."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        with suppress(Refused):
            if await bed.cluster.read(path) is not None:
                return
        await asyncio.sleep(0.1)
    raise TookTooLong(f"{path} is not served after {LIMIT:g} s")


async def _clear(bed: Bed, names: list[str]) -> None:
    definitions = [f"{name}.{_GROUP}" for name in names] + ["addons.discovery.addons.k8s.io"]
    for name in definitions:
        await bed.cluster.remove(f"{_DEFINITIONS}/{name}")
    for name in definitions:
        await disappears(bed.cluster, f"{_DEFINITIONS}/{name}")


def _definition(name: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": name, "singular": name[:-1], "kind": name[:-1].capitalize()}
    spec = {"group": _GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name}.{_GROUP}"},
        "spec": spec,
    }


def _object(name: str, number: int) -> dict[str, Any]:
    """An object of 1.5 KB with a status, as controllers write it; one of ten addons."""
    labels = {f"discovery.addons.k8s.io/addon-{number % _ADDONS}": ""}
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": name[:-1].capitalize(),
        "metadata": {"name": f"object-{number:04}", "labels": labels},
        "spec": {"text": "x" * 700},
        "status": {"conditions": _CONDITIONS},
    }
