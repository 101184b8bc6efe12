"""Schemas of kinds from the API server's own documents, of any shape and size. Level: pure."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from hookrunner.kube import kind_schemas
from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.kind_schemas import read_schema
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.settings import KubeSettings
from kubetypes.openapi.unknown_fields import fields_beside
from tests.tables import each

WIDGET = (
    '{"components": {"schemas": {"odd": 5, "list": {"x-kubernetes-group-version-kind": 5}, "w": {"properties":'
    ' {"spec": {"allOf": [{"$ref": "#/components/schemas/s"}]}},'
    ' "x-kubernetes-group-version-kind": [{"group": "x.io", "version": "v1", "kind": "Widget"}]},'
    ' "s": {"properties": {"size": {}}}}}}'
)


@asynccontextmanager
async def client_of(answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> AsyncIterator[Client]:
    async with RawTestServer(answer) as server:
        connection = Connection(str(server.make_url("")).rstrip("/"))
        async with Client(Credentials(KubeSettings(), connection), Requests(Metrics(""))) as client:
            yield client


async def fields(text: str, status: int = 200) -> tuple[str, ...]:
    """The fields of the spec of a Widget, by an API server that answers this."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        assert request.path == "/openapi/v3/apis/x.io/v1"
        return web.Response(text=text, status=status)

    async with client_of(answer) as client:
        return fields_beside(await read_schema(client, "x.io/v1", "Widget"), ".spec.sise")


async def test_references_of_the_document_are_followed() -> None:
    assert await fields(WIDGET) == ("size",)


@each("text", ["", "{", "[]", "{}", '{"components": {"schemas": []}}', WIDGET.replace("schemas/s", "schemas/none")])
async def test_document_of_any_other_shape_tells_nothing(text: str) -> None:
    assert await fields(text) == ()


async def test_refusal_of_the_document_tells_nothing() -> None:
    assert await fields("", 404) == ()


async def test_document_beyond_the_bound_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind_schemas, "_LARGEST", 1000)
    assert await fields(WIDGET + " " * 1000) == ()


async def test_document_that_does_not_come_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind_schemas, "_PATIENCE", 0.1)

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"{")
        await hold.wait()
        return response

    hold = asyncio.Event()
    async with client_of(answer) as client:
        assert await read_schema(client, "x.io/v1", "Widget") is None
        hold.set()
