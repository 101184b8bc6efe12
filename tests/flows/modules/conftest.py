"""The world of each story: a sandbox in the test's own event loop, which remembers every request, and an operator."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from kubesandbox.sandbox import Options, Sandbox, serving
from tests.controlplane.cluster import Cluster
from tests.faults.proxy import Proxy
from tests.flows.modules.world import World
from tests.flows.operator import Operator, oops
from tests.sandboxes import sandbox

__all__ = ["sandbox"]


@pytest.fixture
async def world(launcher: tuple[str, ...], sandbox: Sandbox, tmp_path: Path) -> AsyncIterator[World]:
    """On the sandbox. In the end the operator is stopped, and it may not have made errors of its own."""
    async with on_sandbox(sandbox, tmp_path) as world:
        yield world


@asynccontextmanager
async def on_sandbox(sandbox: Sandbox, tmp_path: Path) -> AsyncIterator[World]:
    """A story on this sandbox."""
    (tmp_path / "kc").write_text(sandbox.kubeconfig())
    async with aiohttp.ClientSession(sandbox.url) as session:

        async def ask(method: str, path: str, body: object) -> Any:
            merge = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else {}
            async with session.request(method, path, json=body, headers=merge) as response:
                if response.status == HTTPStatus.NOT_FOUND:
                    return None
                assert response.ok, await response.text()
                return await response.json()

        one = World(tmp_path, _operator(tmp_path, tmp_path / "kc", "default"), ask, lambda: sandbox.faults.requests)
        try:
            yield one
        finally:
            await _over(one.operator)


@pytest.fixture
async def real(cluster: Cluster, namespace: str, proxy: Proxy, tmp_path: Path) -> AsyncIterator[World]:
    """On the real control plane, through the fault proxy."""
    async with on(cluster, proxy, namespace, tmp_path) as world:
        yield world


@asynccontextmanager
async def on_server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    """A story on the server that a fixture's parameter names: `sandbox`, or `cluster`, the run's own."""
    if request.param == "sandbox":
        async with serving(Options(simulate=True)) as sandbox, on_sandbox(sandbox, tmp_path) as world:
            yield world
    else:
        cluster, namespace = (request.getfixturevalue(name) for name in ("cluster", "namespace"))
        async with Proxy(cluster.access, tmp_path) as proxy, on(cluster, proxy, namespace, tmp_path) as world:
            yield world


@asynccontextmanager
async def on(cluster: Cluster, proxy: Proxy, namespace: str, tmp_path: Path) -> AsyncIterator[World]:
    """A story on this cluster."""

    async def ask(method: str, path: str, body: object) -> Any:
        reply = await asyncio.to_thread(cluster.request, method, path, body)
        if reply.status in (HTTPStatus.NOT_FOUND, HTTPStatus.TOO_MANY_REQUESTS):  # that of a kind that is being defined
            return None
        assert reply.status < HTTPStatus.BAD_REQUEST, reply.body
        return reply.body

    requests = lambda: [one.line for one in proxy.requests]  # noqa: E731
    one = World(tmp_path, _operator(tmp_path, proxy.kubeconfig, namespace), ask, requests, namespace)
    try:
        yield one
    finally:
        await _over(one.operator)


def _operator(directory: Path, kubeconfig: Path, namespace: str) -> Operator:
    flags = (f"--modules-dir={directory / 'modules'}", f"--global-hooks-dir={directory / 'global-hooks'}")
    return Operator(directory, kubeconfig, (*flags, f"--namespace={namespace}"))


async def _over(operator: Operator) -> None:
    try:
        if operator.running():
            await operator.stop()
        await operator.alone()
    finally:
        operator.kill()
        print(operator.story())
    assert oops(operator.logs()) == []
