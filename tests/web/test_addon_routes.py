"""Addons and instances on the debug endpoint: the routes of modules, below another path, and their own. Level: pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from aiohttp import web

from hookrunner.errors import PackageError, RenderFailed
from hookrunner.model.addons import Addon, AddonObject, RejectedAddon
from hookrunner.model.contexts import Entry
from hookrunner.model.resources import ObjectKey
from hookrunner.model.status import InstanceDump, ObjectDump, RevisionDump, SnapshotDump
from hookrunner.web.debug import OverTcp, Parameters, Views, application
from hookrunner.web.views.pages import DebugPages, Layer, View
from kubetypes.json_values import JSON
from tests.web.conftest import Browse, Fetch

PODS = SnapshotDump("pods", [Entry(ObjectKey("d", "Pod", "y"), b'{"a":1}', None)], {})
DNS = Addon("dns", "dns", Path("/addons/dns"), Path("/addons"), AddonObject("DNS", "dnses"), "Names")
ROW = InstanceDump(
    *("dns", "d", "x", "DNS", "dns.d.x", "1.2", "stable", "Current", "Current", "it works", True, "1.3", 3, False, 9.0),
    {"Current": 2},
)


class Shown:
    """`dns/x` in two namespaces, `dns/y` in one, and the cluster-scoped `net/n`."""

    def addons(self) -> Sequence[Addon]:
        return [DNS, replace(DNS, name="net")]

    def rejected(self) -> Sequence[RejectedAddon]:
        return [RejectedAddon("bad", Path("/addons/bad"), "object.kind is required")]

    def rows(self) -> Sequence[InstanceDump]:
        return [ROW]

    def units(self, addon: str, name: str) -> Mapping[str, str]:
        units = {"dns/x": {"d": "dns.d.x", "e": "dns.e.x"}, "dns/y": {"d": "dns.d.y"}, "net/n": {"": "net.n"}}
        return units.get(f"{addon}/{name}", {})

    def objection(self, unit: str, view: View) -> str:
        objections: dict[View, str] = {
            "values": "net/n has no values yet: waits",
            "rollback": "net/n is not rolled back: it is suspended",
        }
        return objections.get(view, "") if unit == "net.n" else ""

    async def revisions(self, unit: str) -> Sequence[RevisionDump]:
        return [RevisionDump(1, "1.2", "superseded", ""), RevisionDump(2, "1.1", "deployed", "pinned")]

    async def objects(self, unit: str) -> Sequence[ObjectDump]:
        if unit != "dns.d.y":
            raise RenderFailed(f"{unit} has no known objects")
        return [ObjectDump("Service d/a", "Current", "")]

    async def versions(self, addon: str, channels: Sequence[str]) -> JSON:
        if addon == "net":
            raise PackageError("Unreachable", "the source is down")
        return {"addon": addon, "channels": list(channels)}

    def values(self, unit: str, layer: Layer, whole: bool) -> JSON:
        return {"of": unit, "layer": layer, "whole": whole}

    def explain(self, unit: str) -> JSON:
        return [{"path": "/dns/a", "value": 1, "layer": "ConfigMap"}]

    def hooks(self, unit: str) -> Sequence[str]:
        return []

    def patches(self, unit: str) -> JSON:
        return []

    def snapshots(self, unit: str) -> Mapping[str, Sequence[SnapshotDump]]:
        return {"hooks/a.sh": [PODS]}

    async def render(self, unit: str, debug: bool) -> str:
        return f"kind: {unit}\n"

    async def diff(self, unit: str) -> str:
        return "No diff found\n"

    async def rollback(self, unit: str, revision: int | None) -> str:
        return f"{unit} back to {revision}\n"


def app(pages: DebugPages | None = None, tcp: OverTcp | None = None) -> web.Application:
    pages = pages or DebugPages(units=Shown(), addons=Shown())
    return application(Views(list, list, lambda _name: None, Parameters([]), pages), tcp)


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/addon/dns/y/values.json", 200, '{"of":"dns.d.y","layer":"values","whole":false}\n'),
        ("/addon/dns/x/values.json?namespace=e", 200, '{"of":"dns.e.x","layer":"values","whole":false}\n'),
        ("/addon/dns/y/config.json?global=true", 200, '{"of":"dns.d.y","layer":"config","whole":true}\n'),
        ("/addon/dns/y/values.json?explain=true", 200, '[{"path":"/dns/a","value":1,"layer":"ConfigMap"}]\n'),
        ("/addon/dns/y/patches.json", 200, "[]\n"),
        ("/addon/dns/y/render", 200, "kind: dns.d.y\n"),
        ("/addon/net/n/render", 200, "kind: net.n\n"),
        ("/addon/dns/y/render?diff=true", 200, "No diff found\n"),
        ("/addon/dns/versions.json?channel=next", 200, '{"addon":"dns","channels":["next"]}\n'),
        ("/addon/dns/x/values.json", 400, "there are several dns/x: add -n with one of d, e\n"),
        ("/addon/dns/z/values", 404, "there is no dns/z; `hookrunner addon list` shows all instances\n"),
        (
            "/addon/dns/y/values?namespace=q",
            404,
            "there is no dns/y in namespace 'q'; `hookrunner addon list` shows all instances\n",
        ),
        ("/addon/net/n/values", 500, "net/n has no values yet: waits\n"),
        ("/addon/web/versions", 404, "there is no addon 'web'; those that are offered: dns, net\n"),
        ("/addon/net/versions", 500, "the source is down\n"),
    ],
)
async def test_instance_is_found_by_addon_name_and_namespace(fetch: Fetch, path: str, status: int, text: str) -> None:
    assert await fetch(app(), path) == (status, text)


async def test_list_has_addons_instances_and_rejected_directories(browse: Browse) -> None:
    async with browse(app()) as session:
        shown = orjson.loads(await (await session.get("/addon/list.json")).text())
        assert [addon["name"] for addon in shown["addons"]] == ["dns", "net"]
        assert shown["addons"][0] | {"kind": "DNS", "channel": "stable", "description": "Names"} == shown["addons"][0]
        assert shown["rejected"] == [{"name": "bad", "problem": "object.kind is required"}]
        [row] = shown["instances"]
        assert (row["unit"], row["objects"], row["pinned"]) == ("dns.d.x", {"Current": 2}, False)


async def test_snapshots_and_revisions_are_shown(browse: Browse) -> None:
    async with browse(app()) as session:
        snapshots = await (await session.get("/addon/dns/y/snapshots.json")).text()
        assert orjson.loads(snapshots)["hooks/a.sh"]["pods"]["snapshot"] == [{"object": {"a": 1}}]
        revisions = await (await session.get("/addon/dns/y/revisions.json")).text()
        assert orjson.loads(revisions)["revisions"][1] == {
            "revision": 2,
            "version": "1.1",
            "status": "deployed",
            "note": "pinned",
        }


async def test_objects_are_shown_with_their_health(browse: Browse) -> None:
    async with browse(app()) as session:
        shown = orjson.loads(await (await session.get("/addon/dns/y/objects.json")).text())
        assert shown == {"objects": [{"object": "Service d/a", "status": "Current", "message": ""}]}
        assert "no known objects" in await (await session.get("/addon/net/n/objects.json")).text()


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/addon/dns/y/rollback?revision=3", 200, "dns.d.y back to 3\n"),
        ("/addon/dns/y/rollback", 200, "dns.d.y back to None\n"),
        (
            "/addon/dns/y/rollback?revision=0",
            400,
            "'revision' parameter is invalid: '0' is no number of a revision\n",
        ),
        ("/addon/net/n/rollback", 500, "net/n is not rolled back: it is suspended\n"),
    ],
)
async def test_rollback_names_a_revision_or_takes_the_one_before(
    fetch: Fetch, path: str, status: int, text: str
) -> None:
    assert await fetch(app(), path, method="POST") == (status, text)


async def test_values_of_instances_are_withheld_over_tcp_where_there_is_a_secret(browse: Browse) -> None:
    async with browse(app(tcp=OverTcp("127.0.0.1", secret=True))) as session:
        paths = ("values.json", "config.json", "patches.json", "snapshots.json", "render")
        answers = [(await session.get(f"/addon/dns/y/{path}")).status for path in paths]
        assert (answers, (await session.get("/addon/list.json")).status) == ([403] * len(paths), 200)


async def test_routes_answer_404_without_addons(browse: Browse) -> None:
    async with browse(app(DebugPages())) as session:
        for path in ("/addon/list.json", "/addon/dns/y/values.json", "/addon/dns/versions"):
            answer = await session.get(path)
            assert (answer.status, (await answer.text()).startswith("there are no addons: ")) == (404, True)
