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
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import hooks
from benchmarks.programs import Line, Program, Running, TookTooLong
from benchmarks.scenarios import Bed, Figures, at_rate
from hookrunner.hooks.python_path import DIRECTORY
from tests.controlplane.certs import make_server_certificate
from tests.controlplane.processes import free_port

GROUP = "benchmark.hookrunner.io"
"""Nothing of this group is in any cluster, so that no API server ever calls these webhooks."""

_RATE = 50
"""Reviews a second, sent whether or not those before have been answered."""

_CONNECTIONS = 64
"""At most; then requests wait before they are sent."""
_CONVERSIONS = 3
_SIZE = 1000
"""Bytes of an object."""


class Webhooks:
    """A started program and connections to its webhook port, which are kept. They block, each in a thread: an event
    loop in Python takes longer for a request than the API server does, and that would be in the figures."""

    def __init__(self, operator: Running, port: int, trust: ssl.SSLContext) -> None:
        self.operator = operator
        self._port = port
        self._trust = trust
        self._idle: list[ssl.SSLSocket] = []
        self._threads = ThreadPoolExecutor(_CONNECTIONS)

    async def ask(self, path: str, review: bytes) -> tuple[float, Any]:
        """The seconds until the answer was there, and the `response` that it has. Raises TookTooLong."""
        took, status, body = await self._send(f"POST {path}?timeout=30s", review)
        if status != b"200":
            raise TookTooLong(f"{self.operator.program.name}: {path} → {status!r}: {body[:500]!r}")
        return took, json.loads(body)["response"]

    async def admit(self) -> float:
        """The seconds of an admission review that is allowed. Raises TookTooLong."""
        took, response = await self.ask(f"/hooks/{_ID}", _ADMISSION_REVIEW)
        if not response["allowed"]:
            raise TookTooLong(f"{self.operator.program.name}: a review was answered with {response}")
        return took

    async def alive(self) -> float:
        """Seconds that a request takes which no hook has a part in."""
        took, _, _ = await self._send("GET /healthz", b"")
        return took

    def close(self) -> None:
        """Drop the connections."""
        self._threads.shutdown()
        for connection in self._idle:
            connection.close()

    async def _send(self, what: str, body: bytes) -> tuple[float, bytes, bytes]:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._send_blocking, what, body)

    def _send_blocking(self, what: str, body: bytes) -> tuple[float, bytes, bytes]:
        """Seconds, status and body of the answer."""
        connection = self._idle.pop() if self._idle else self._connect()
        head = f"{what} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nContent-Type: application/json\r\n"
        request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        began = time.perf_counter()
        connection.sendall(request)
        with connection.makefile("rb") as answer:
            status = answer.readline().split()[1]
            length = 0
            while (line := answer.readline()) != b"\r\n":
                length = int(line[15:]) if line.lower().startswith(b"content-length:") else length
            content = answer.read(length)
        took = time.perf_counter() - began
        self._idle.append(connection)
        return took, status, content

    def _connect(self) -> ssl.SSLSocket:
        plain = socket.create_connection(("127.0.0.1", self._port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._trust.wrap_socket(plain, server_hostname="127.0.0.1")


async def reviews(bed: Bed, program: Program) -> Figures:
    """Admission reviews at a steady rate. `whole`: until the answer; `alone`: the same hook run with the same files by
    Python's subprocess, right after it; `cost`: the difference of the two; `https`: a bare request, before it."""
    script = hooks.admits(_ADMISSION)
    files = bed.new_directory()
    hooks.write(files, {"hook.sh": script})
    async with _serving(bed, program, {"hook.sh": script}) as webhooks:
        await webhooks.admit()
        turns = await at_rate(bed.sizes.reviews, _RATE, lambda: _review(webhooks, files))
    https, whole, alone = [list(times) for times in zip(*turns, strict=True)]
    return {"https": https, "whole": whole, "alone": alone, "cost": [took - bare for _, took, bare in turns]}


async def resident_reviews(bed: Bed, program: Program) -> Figures:
    """Reviews by a resident hook in Python, at the usual rate and at ten times that. `whole_*`: until the answer;
    `alone`: until the same hook answers the same line to a program that does nothing else; `cost_*`: without the median
    of that; `https_*`: bare requests."""
    files = bed.new_directory()
    hooks.write(files, {"hook.py": _ADMITS_IN_PYTHON})
    figures: Figures = {"alone": await asyncio.to_thread(_resident_alone, files / "hook.py", bed.sizes.reviews // 10)}
    async with _serving(bed, program, {"hook.py": _ADMITS_IN_PYTHON}) as webhooks:
        await webhooks.admit()
        for rate in (_RATE, 10 * _RATE):
            count = bed.sizes.reviews * rate // _RATE // 2
            figures[f"https_{rate}"] = await at_rate(count, rate, webhooks.alive)
            whole = figures[f"whole_{rate}"] = await at_rate(count, rate, webhooks.admit)
            figures[f"cost_{rate}"] = [took - median(figures["alone"]) for took in whole]
    return figures


def _resident_alone(path: Path, count: int) -> list[float]:
    """Seconds from a run to its answer, on the pipes of a hook."""
    context = {"binding": GROUP, "type": "Validating", "review": json.loads(_ADMISSION_REVIEW)}
    run = json.dumps({"run": {"id": "r1", "hook": path.name, "attempt": 1, "contexts": [context]}}).encode() + b"\n"
    start = f"exec {path} --resident 3<&0 4>&1 </dev/null >&2"
    paths = {"PYTHONPATH": str(DIRECTORY), "HOOKRUNNER_REQUESTS": "/dev/fd/3", "HOOKRUNNER_ANSWERS": "/dev/fd/4"}
    with subprocess.Popen(
        ("/bin/bash", "-c", start), bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | paths
    ) as hook:
        assert hook.stdin
        assert hook.stdout
        found = []
        for line in (b'{"hello": {"versions": [1]}}\n', *[run] * count):
            time.sleep(1 / _RATE)
            began = time.perf_counter()
            hook.stdin.write(line)
            hook.stdout.readline()
            found.append(time.perf_counter() - began)
        hook.stdin.close()
    return found[1:]


async def conversion(bed: Bed, program: Program) -> Figures:
    """One request with many objects, a few times. `hook`: from the hook's first line to its last, as it says itself;
    `cost`: the rest until the answer was there; `memory`: the most that was resident above what was before, without the
    hook, by the size of the request."""
    review = _conversion_review(bed.sizes.converted)
    figures: Figures = {"cost": [], "hook": []}
    async with _serving(bed, program, {"hook.sh": hooks.converts(_CONVERSION, f"{GROUP}/v2")}) as webhooks:
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


async def _review(webhooks: Webhooks, files: Path) -> tuple[float, float, float]:
    return await webhooks.alive(), await webhooks.admit(), await asyncio.to_thread(_alone, files)


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
async def _serving(bed: Bed, program: Program, scripts: dict[str, str]) -> AsyncIterator[Webhooks]:
    """The program with these hooks, once it answers, and what it has registered is removed after its end: it
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
    try:
        with bed.run(replace(program, command=command), scripts) as operator:
            await operator.until(lambda _: listens(port), "its webhook port")
            webhooks = Webhooks(operator, port, trust)
            yield webhooks
            webhooks.close()
    finally:
        await bed.cluster.remove(f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{name}")


def listens(port: int) -> bool:
    """Is a connection accepted there?"""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


_ID = GROUP.replace(".", "-")
_RULES = [{"apiGroups": [GROUP], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}]
_ADMISSION = {
    "configVersion": "v1",
    "kubernetesValidating": [{"name": GROUP, "failurePolicy": "Ignore", "rules": _RULES}],
}
_ADMITS_IN_PYTHON = hooks.in_python(f"validate({GROUP!r}, failure_policy='Ignore', rules={_RULES})", "pass")
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
