"""Objects survive a restart in a file; bad files are refused, and nothing is half written. Level: sandbox."""

import asyncio
import signal
import sqlite3
import stat
import sys
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from kubesandbox.errors import BadFile
from kubesandbox.journal import Journal
from kubesandbox.sandbox import Options, serving
from kubesandbox.store import Key, Store
from tests.kubesandbox.conftest import Client
from tests.sandboxes import read_access

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
DEFINITION = {
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "things", "kind": "Thing"},
        "scope": "Namespaced",
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


async def test_objects_definitions_and_revisions_survive_a_restart(tmp_path: Path) -> None:
    options = Options(data=tmp_path / "new" / "cluster.db")
    async with serving(options) as sandbox, aiohttp.ClientSession() as session:
        client = Client(sandbox, session)
        made = await client.create(CONFIGMAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
        await client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
        await client.create(CONFIGMAPS, {"metadata": {"name": "b"}})
        await client.send("DELETE", f"{CONFIGMAPS}/b")
        last = sandbox.store.revision
    async with serving(options) as sandbox, aiohttp.ClientSession() as session:
        client = Client(sandbox, session)
        assert (await client.send("GET", f"{CONFIGMAPS}/a")).body == made
        assert (await client.send("GET", f"{CONFIGMAPS}/b")).status == 404
        assert (await client.send("GET", "/apis/example.com/v1/things")).body["kind"] == "ThingList"
        assert sandbox.store.revision >= last
        old = await client.send("GET", f"{CONFIGMAPS}?resourceVersion={made['metadata']['resourceVersion']}&limit=1")
        assert old.status == 410


async def test_token_and_certificate_stay_the_same_across_restarts(tmp_path: Path) -> None:
    """Else a client would have to read its kubeconfig again. A token that is given is used, and not kept."""
    options = Options(token=None, own_certificate=True, data=tmp_path / "c.db")
    found = []
    for token in (None, "given", None):
        async with serving(replace(options, token=token)) as sandbox:
            found.append(sandbox.access)
    assert [access.pair for access in found] == [found[0].pair] * 3
    assert [access.token for access in found] == [found[0].token, "given", found[0].token]
    assert len(found[0].token) > 40


@pytest.mark.usefixtures("launcher")
async def test_a_killed_sandbox_loses_nothing_that_it_answered(tmp_path: Path) -> None:
    arguments = ["sandbox", "--data", str(tmp_path / "c.db"), "--sandbox-kubeconfig", str(tmp_path / "kubeconfig")]
    program = (sys.executable, "-m", "hookrunner", *arguments)
    child = await asyncio.create_subprocess_exec(*program, stdout=asyncio.subprocess.PIPE)
    assert child.stdout is not None
    await child.stdout.readline()
    access = read_access(tmp_path / "kubeconfig")
    connector = aiohttp.TCPConnector(ssl=access.tls or False)
    async with aiohttp.ClientSession(access.url, headers=access.headers, connector=connector) as session:
        for number in range(20):
            answer = await session.post(CONFIGMAPS, json={"metadata": {"name": f"c{number}"}})
            assert answer.status == 201
    child.send_signal(signal.SIGKILL)
    await child.communicate()
    store = Store()
    journal = Journal(tmp_path / "c.db")
    store.restore(journal.objects(), journal.revision())
    journal.close()
    assert len(store.select("configmaps")) == 20


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("no database, but long enough to have a header " * 50)
    with pytest.raises(BadFile, match=r"the data file .*/x cannot be used: .*choose another file with --data"):
        Journal(tmp_path / "x")


def test_a_file_of_a_later_format_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "x") as db:
        db.execute("PRAGMA user_version = 9")
    db.close()
    with pytest.raises(BadFile, match="it is of format 9, this program writes 1"):
        Journal(tmp_path / "x")


def test_a_file_in_use_is_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "x")
    with pytest.raises(BadFile, match="another sandbox uses it: stop that one"):
        Journal(tmp_path / "x")
    journal.close()
    Journal(tmp_path / "x").close()


def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    """SQLite gives the files beside it the same rights."""
    Journal(tmp_path / "c.db").close()
    assert stat.S_IMODE((tmp_path / "c.db").stat().st_mode) == 0o600


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="cannot be used"):
        Journal(tmp_path)


async def test_a_write_that_cannot_be_kept_is_answered_so(tmp_path: Path) -> None:
    async with serving(Options(data=tmp_path / "c.db")) as sandbox, aiohttp.ClientSession() as session:
        client = Client(sandbox, session)
        assert isinstance(sandbox.store._journal, Journal)
        sandbox.store._journal._db.execute("PRAGMA max_page_count = 1")
        answer = await client.send("POST", CONFIGMAPS, {"metadata": {"name": "a"}, "data": {"k": "x" * 900_000}})
        assert (answer.status, answer.body["reason"]) == (500, "InternalError")
        assert "cannot be written" in answer.body["message"]
        assert sandbox.store.get(Key("configmaps", "default", "a")) is None
