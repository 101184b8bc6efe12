"""Webhooks: what a review costs above its hook, and what it takes to convert thousands of objects in one request.

The benchmark asks in the API server's place, over TLS on connections that are kept, so that nothing of the API server
is in the figures. The client's own work is: it cannot be told apart from outside.
"""

import asyncio
import json
import os
import socket
import ssl
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks import hooks
from benchmarks.programs import Line, Program, Running, TookTooLong
from benchmarks.scenarios import Bed, Figures
from tests.controlplane.certs import make_server_certificate
from tests.controlplane.processes import free_port

GROUP = "benchmark.hookrunner.io"
"""Nothing of this group is in any cluster, so that no API server ever calls these webhooks."""

_RATE = 50
"""Reviews a second, sent whether or not those before have been answered."""

_CONVERSIONS = 3
_SIZE = 1000
"""Bytes of an object."""


@dataclass(frozen=True, slots=True)
class Webhooks:
    """A started program, and a session with its webhook port."""

    operator: Running
    session: aiohttp.ClientSession

    async def ask(self, path: str, review: bytes) -> tuple[float, Any]:
        """The seconds until the answer was there, and the `response` that it has. Raises TookTooLong."""
        began = time.perf_counter()
        headers = {"Content-Type": "application/json"}
        async with self.session.post(f"{path}?timeout=30s", data=review, headers=headers) as answer:
            body = await answer.read()
        took = time.perf_counter() - began
        if answer.status != 200:
            raise TookTooLong(f"{self.operator.program.name}: {path} → {answer.status}: {body[:500]!r}")
        return took, json.loads(body)["response"]

    async def alive(self) -> float:
        """Seconds that a request takes which no hook has a part in."""
        began = time.perf_counter()
        async with self.session.get("/healthz") as answer:
            await answer.read()
        return time.perf_counter() - began


async def reviews(bed: Bed, program: Program) -> Figures:
    """Admission reviews at a steady rate. `whole`: until the answer; `alone`: the same hook run with the same files by
    Python's subprocess, right after it; `cost`: the difference of the two; `https`: a bare request, before it."""
    script = hooks.admits(_ADMISSION)
    files = bed.new_directory()
    hooks.write(files, {"hook.sh": script})
    async with _serving(bed, program, script) as webhooks:
        await webhooks.ask(f"/hooks/{_ID}", _ADMISSION_REVIEW)
        begin = asyncio.get_running_loop().time()
        times = [begin + number / _RATE for number in range(bed.sizes.reviews)]
        turns = await asyncio.gather(*(_review(webhooks, files, at) for at in times))
    https, whole, alone = [list(times) for times in zip(*turns, strict=True)]
    return {"https": https, "whole": whole, "alone": alone, "cost": [took - bare for _, took, bare in turns]}


async def conversion(bed: Bed, program: Program) -> Figures:
    """One request with many objects, a few times. `hook`: from the hook's first line to its last, as it says itself;
    `cost`: the rest until the answer was there; `memory`: the most that was resident above what was before, without the
    hook, by the size of the request."""
    review = _conversion_review(bed.sizes.converted)
    figures: Figures = {"cost": [], "hook": []}
    async with _serving(bed, program, hooks.converts(_CONVERSION, f"{GROUP}/v2")) as webhooks:
        idle = (await webhooks.operator.steady_memory()).own
        webhooks.operator.forget_peak()
        for number in range(_CONVERSIONS):
            took, response = await webhooks.ask(f"/things.{GROUP}", review)
            if len(response.get("convertedObjects") or ()) != bed.sizes.converted:
                raise TookTooLong(f"{program.name}: no conversion: {response['result']}")
            own = _between(await webhooks.operator.wait(number + 1, "done"))
            figures["hook"].append(own)
            figures["cost"].append(took - own)
        return figures | {"memory": [(webhooks.operator.peak_memory() - idle) / len(review)]}


async def _review(webhooks: Webhooks, files: Path, at: float) -> tuple[float, float, float]:
    await asyncio.sleep(at - asyncio.get_running_loop().time())
    https = await webhooks.alive()
    took, response = await webhooks.ask(f"/hooks/{_ID}", _ADMISSION_REVIEW)
    if not response["allowed"]:
        raise TookTooLong(f"{webhooks.operator.program.name}: a review was answered with {response}")
    return https, took, await asyncio.to_thread(_alone, files)


def _alone(directory: Path) -> float:
    """Seconds that the hook takes without any operator."""
    paths = {name: directory / name for name in _FILES}
    for path in paths.values():
        path.write_bytes(b"")
    paths["BINDING_CONTEXT_PATH"].write_text(f'[{{"type":"Validating","review":{_ADMISSION_REVIEW.decode()}}}]')
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", **{name: str(path) for name, path in paths.items()}}
    began = time.perf_counter()
    subprocess.run([directory / "hook.sh"], env=environment, stdin=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


_FILES = (
    "BINDING_CONTEXT_PATH",
    "METRICS_PATH",
    "CONVERSION_RESPONSE_PATH",
    "VALIDATING_RESPONSE_PATH",
    "KUBERNETES_PATCH_PATH",
)


def _between(lines: list[Line]) -> float:
    """Seconds from the first line of the last run to its end."""
    begun, done = [[line.at for line in lines if line.word == word][-1] for word in ("run", "done")]
    return done - begun


@asynccontextmanager
async def _serving(bed: Bed, program: Program, script: str) -> AsyncIterator[Webhooks]:
    """The program with this hook, once it answers, and what it has registered is removed after its end: it
    would repair that."""
    directory, port, name = bed.new_directory(), free_port(), f"benchmark-{time.time_ns()}"
    directory.mkdir()
    files = make_server_certificate(directory, "webhooks")
    flags = {
        "webhook-certs": "files",
        "webhook-url": f"https://127.0.0.1:{port}",
        "webhook-port": str(port),
        "validating-webhook-listen-address": "127.0.0.1",
        "validating-webhook-server-cert": str(files.certificate),
        "validating-webhook-server-key": str(files.key),
        "validating-webhook-ca": str(files.certificate),
        "validating-webhook-configuration-name": name,
    }
    command = (*program.command, *(f"--{flag}={value}" for flag, value in flags.items()))
    trust = ssl.create_default_context(cafile=str(files.certificate))
    connector = aiohttp.TCPConnector(ssl=trust, limit=0)
    try:
        with bed.run(replace(program, command=command), {"hook.sh": script}) as operator:
            async with aiohttp.ClientSession(flags["webhook-url"], connector=connector) as session:
                await operator.until(lambda _: _listens(port), "its webhook port")
                yield Webhooks(operator, session)
    finally:
        await bed.cluster.remove(f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{name}")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


_ID = GROUP.replace(".", "-")
_ADMISSION = {
    "configVersion": "v1",
    "kubernetesValidating": [
        {
            "name": GROUP,
            "failurePolicy": "Ignore",
            "rules": [{"apiGroups": [GROUP], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}],
        }
    ],
}
_CONVERSION = {
    "configVersion": "v1",
    "kubernetesCustomResourceConversion": [
        {"name": "up", "crdName": f"things.{GROUP}", "conversions": [{"fromVersion": "v1", "toVersion": "v2"}]}
    ],
}


def _thing(number: int) -> dict[str, Any]:
    """A custom object of `_SIZE` bytes."""
    metadata = {"name": f"thing-{number:06}", "namespace": "default", "uid": f"00000000-0000-4000-8000-{number:012}"}
    thing = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": metadata, "spec": {"text": ""}}
    return thing | {"spec": {"text": "x" * (_SIZE - len(json.dumps(thing)))}}


def _envelope(kind: str, group: str, request: dict[str, Any]) -> bytes:
    review = {"apiVersion": f"{group}/v1", "kind": kind, "request": {"uid": "1"} | request}
    return json.dumps(review, separators=(",", ":")).encode()


_ADMISSION_REVIEW = _envelope(
    "AdmissionReview",
    "admission.k8s.io",
    {
        "kind": {"group": GROUP, "version": "v1", "kind": "Thing"},
        "resource": {"group": GROUP, "version": "v1", "resource": "things"},
        "name": "thing-000000",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]},
        "object": _thing(0),
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    },
)


def _conversion_review(count: int) -> bytes:
    request = {"desiredAPIVersion": f"{GROUP}/v2", "objects": [_thing(number) for number in range(count)]}
    return _envelope("ConversionReview", "apiextensions.k8s.io", request)
