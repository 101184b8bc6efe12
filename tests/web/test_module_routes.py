"""Modules on the debug endpoint: each route in the words that the predecessor's clients read. Level: pure."""

from collections.abc import Mapping, Sequence

import pytest
from aiohttp import web

from hookrunner.errors import ReleaseFailed, RenderFailed
from hookrunner.model.contexts import Entry
from hookrunner.model.releases import Adoption
from hookrunner.model.resources import ObjectKey
from hookrunner.model.status import ModuleDump, RevisionDump, SnapshotDump
from hookrunner.web.debug import Parameters, Views, application
from hookrunner.web.views.pages import DebugPages, GraphForm, Layer
from kubetypes.json_values import JSON
from tests.web.conftest import Browse, Fetch

DNS = ModuleDump("node-dns", 10, "1.2", "on", "Static", "Ready", True, "", 3, 1.5, 2.5, ("d/Secret/s",))
PODS = SnapshotDump("pods", [Entry(ObjectKey("d", "Pod", "y"), b'{"a":1}', None)], {})
PATCH = {"op": "add", "path": "/nodeDns/a", "value": 1}


class ShownUnits:
    """The same views of each of them."""

    def values(self, unit: str, layer: Layer, whole: bool) -> JSON:
        shown = {"values": {"a": 1, "b": ["on"]}, "config": None}[layer]
        return {"global": {}, unit: shown} if whole else shown

    def explain(self, unit: str) -> JSON:
        return [{"path": f"/{unit}/a", "value": 1, "layer": "ConfigMap"}]

    def patches(self, unit: str) -> JSON:
        return [{"Operations": [PATCH]}] if unit == "node-dns" else []

    def hooks(self, unit: str) -> Sequence[str]:
        return ["a.sh", f"{unit}.sh"]

    def snapshots(self, unit: str) -> Mapping[str, Sequence[SnapshotDump]]:
        return {"hooks/a.sh": [PODS]}

    async def render(self, unit: str, debug: bool) -> str:
        if unit == "broken":
            raise RenderFailed("broken/templates/x.yaml:1: no")
        return "kind: Pod\n" + "# hooks\n" * debug

    async def diff(self, unit: str) -> str:
        return "No diff found\n"

    async def rollback(self, unit: str, revision: int | None) -> str:
        return f"{unit} back to {revision}\n"

    async def revisions(self, unit: str) -> Sequence[RevisionDump]:
        return []


class Shown(ShownUnits):
    """Three modules, of which one cannot be rendered."""

    def knows(self, unit: str) -> bool:
        return unit in ("node-dns", "broken", "quiet")

    def rows(self) -> Sequence[ModuleDump]:
        return [DNS]

    def enabled(self) -> Sequence[str]:
        return ["node-dns", "broken"]

    def graph(self, form: GraphForm) -> str:
        return f"graph as {form}\n"

    async def resources(self) -> JSON:
        return {"node-dns": ["d/Pod/y"], "broken": "No monitor"}

    async def adopt(self, unit: str) -> Sequence[Adoption]:
        if unit == "broken":
            raise ReleaseFailed("broken has failed: no")
        return [Adoption("d/ConfigMap/a", "old/dns"), Adoption("d/ConfigMap/b")] if unit == "node-dns" else []


def app(pages: DebugPages | None = None) -> web.Application:
    pages = pages or DebugPages(units=Shown(), modules=Shown())
    return application(Views(list, list, lambda _name: None, Parameters([]), pages))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/global/list.json", '{"globalHooks":["a.sh","global.sh"]}\n'),
        ("/global/list.yaml", "globalHooks:\n- a.sh\n- global.sh\n"),
        ("/global/values.yaml", "a: 1\nb:\n- 'on'\n"),
        ("/global/config.yaml", "null\n"),
        ("/global/config.json", "null\n"),
        ("/global/patches.json", "[]\n"),
        ("/global/snapshots.json", '{"hooks/a.sh":{"pods":{"snapshot":[{"object":{"a":1}}],"operations":{}}}}\n'),
        ("/module/node-dns/values.json", '{"a":1,"b":["on"]}\n'),
        ("/module/node-dns/values.json?global=true", '{"global":{},"node-dns":{"a":1,"b":["on"]}}\n'),
        ("/module/node-dns/config.json", "null\n"),
        ("/module/node-dns/config.json?global=true", '{"global":{},"node-dns":null}\n'),
        ("/module/node-dns/values.json?explain=true", '[{"path":"/node-dns/a","value":1,"layer":"ConfigMap"}]\n'),
        (
            "/module/node-dns/patches.json",
            '[{"Operations":[{"op":"add","path":"/nodeDns/a","value":1}]}]\n',
        ),
        (
            "/module/node-dns/snapshots.yaml",
            "hooks/a.sh:\n  pods:\n    snapshot:\n    - object:\n        a: 1\n    operations: {}\n",
        ),
        ("/module/node-dns/render", "kind: Pod\n"),
        ("/module/node-dns/render?debug=true", "kind: Pod\n# hooks\n"),
        ("/module/node-dns/render?diff=true", "No diff found\n"),
        ("/module/resource-monitor.json", '{"node-dns":["d/Pod/y"],"broken":"No monitor"}\n'),
        ("/graph", "graph as text\n"),
        ("/graph?format=mermaid", "graph as mermaid\n"),
        ("/graph?format=dot", "graph as dot\n"),
    ],
)
async def test_routes_and_formats(fetch: Fetch, path: str, text: str) -> None:
    assert await fetch(app(), path) == (200, text)


@pytest.mark.parametrize("form", ["", ".text", ".json"])
async def test_list_names_enabled_modules_and_describes_all(browse: Browse, form: str) -> None:
    async with browse(app()) as session:
        assert await (await session.get(f"/module/list{form}")).text() == (
            '{"enabledModules":["broken","node-dns"],"modules":[{"name":"node-dns","weight":10,"version":"1.2",'
            '"state":"on","by":"Static","phase":"Ready","ready":true,"reason":"","revision":3,"since":1.5,'
            '"last_success":2.5,"drift":["d/Secret/s"],"records":[],"refused":"","lacks":[],"unknown_fields":[],"unseen_since":0.0}]}\n'
        )


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/module/nope/values.json", 404, "unknown module nope\n"),
        ("/module/global/values.json", 404, "unknown module global\n"),
        ("/module/nope/render", 404, "unknown module nope\n"),
        ("/module/broken/render", 500, "broken/templates/x.yaml:1: no\n"),
        ("/graph?format=png", 400, "'format' parameter is invalid: 'png' is not one of text, mermaid, dot\n"),
        ("/module/node-dns/rollback", 405, "Method Not Allowed\n"),
    ],
)
async def test_module_errors_answer_with_error_codes(fetch: Fetch, path: str, status: int, text: str) -> None:
    assert await fetch(app(), path) == (status, text)


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ("?revision=3", 200, "node-dns back to 3\n"),
        ("", 200, "node-dns back to None\n"),
        ("?revision=0", 400, "'revision' parameter is invalid: '0' is no number of a revision\n"),
        ("?revision=-1", 400, "'revision' parameter is invalid: '-1' is no number of a revision\n"),
    ],
)
async def test_rollback_restores_a_revision(fetch: Fetch, query: str, status: int, text: str) -> None:
    assert await fetch(app(), f"/module/node-dns/rollback{query}", method="POST") == (status, text)


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("node-dns/adopt", 200, "d/ConfigMap/a (from release old/dns)\nd/ConfigMap/b (from no release)\n"),
        (
            "node-dns/adopt.json",
            200,
            '{"module":"node-dns","adopted":[{"object":"d/ConfigMap/a","owner":"old/dns"},'
            '{"object":"d/ConfigMap/b","owner":""}]}\n',
        ),
        ("quiet/adopt", 200, "nothing was to be taken over\n"),
        ("quiet/adopt.yaml", 200, "module: quiet\nadopted: []\n"),
        ("broken/adopt", 500, "broken has failed: no\n"),
        ("nope/adopt", 404, "unknown module nope\n"),
    ],
)
async def test_adopt_answers_with_the_adopted_objects(fetch: Fetch, path: str, status: int, text: str) -> None:
    assert await fetch(app(), f"/module/{path}", method="POST") == (status, text)


@pytest.mark.parametrize("path", ["/module/list.json", "/global/values.json", "/module/a/render", "/graph"])
async def test_routes_answer_404_without_modules(browse: Browse, path: str) -> None:
    async with browse(app(DebugPages())) as session:
        answer = await session.get(path)
        assert (answer.status, (await answer.text()).startswith("there are no modules: ")) == (404, True)


async def test_all_routes_are_listed(browse: Browse) -> None:
    async with browse(app()) as session:
        routes = (await (await session.get("/discovery")).text()).splitlines()
        assert {"GET /global/values{format}", "GET /module/{name}/render", "POST /module/{name}/rollback"} <= {*routes}
