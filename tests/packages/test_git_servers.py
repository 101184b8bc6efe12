"""Servers of git repositories that hang, lie, redirect, ask for a login or send too much. Level: sandbox."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from aiohttp import encode_basic_auth

from hookrunner.packages.git.git_checkouts import GitCheckouts
from hookrunner.packages.git.git_transport import LARGEST_REFS
from hookrunner.packages.names import LARGEST_TRANSFER
from tests.packages.git_bombs import COMMIT, TREE, chain, instead, object_name, plain, twice, write_pack, zeros
from tests.packages.git_place import GitPlace, git_place
from tests.packages.name_server import Names
from tests.packages.places import refusal_of
from tests.packages.test_git_source import CHANNEL, POSTED, REFS, SHA
from tests.packages.web_place import Answer
from tests.tables import each

pytestmark = pytest.mark.slow
GIT_REFS = {"Content-Type": "application/x-git-upload-pack-advertisement"}
GIT_RESULT = {"Content-Type": "application/x-git-upload-pack-result"}


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[GitPlace]:
    async with git_place(tmp_path) as place:
        yield place


@each("path", [REFS, POSTED])
async def test_a_server_that_hangs_is_left_at_the_deadline(place: GitPlace, tmp_path: Path, path: str) -> None:
    """Its thread ends."""
    place.put_channel("stable", CHANNEL)
    checkouts = GitCheckouts(tmp_path / "checkouts", place.reader, place.credentials, timeout=0.3)
    await place.source.read_channel("stable")
    place.answers[path] = Answer(body=None)
    source = place.source_at(f"git::{place.url}", checkouts)
    for _ in range(2):
        error = await refusal_of(source.read_channel("stable"))
        assert (error.reason, "within 0.3 s; raise --addon-fetch-timeout" in str(error)) == ("Unreachable", True)
    for thread in threading.enumerate():
        if thread.name.startswith("git"):
            await asyncio.to_thread(thread.join, 10)
            assert not thread.is_alive()
    place.answers.clear()
    assert await place.source.read_channel("stable") == CHANNEL.decode()


async def test_a_repository_takes_no_thread_that_its_own_requests_need(place: GitPlace, tmp_path: Path) -> None:
    """Names are resolved in threads of the event loop: here in its only one."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    place.put_channel("stable", CHANNEL)
    checkouts = GitCheckouts(tmp_path / "checkouts", place.reader, place.credentials, timeout=10.0)
    source = place.source_at(f"git::{place.url.replace('127.0.0.1', 'localhost')}", checkouts)
    assert await source.read_channel("stable") == CHANNEL.decode()


async def test_a_fetch_that_is_left_in_the_middle_leaves_nothing(place: GitPlace, tmp_path: Path) -> None:
    place.put_channel("stable", CHANNEL)
    place.fetch_answer = Answer(body=None)
    for timeout in (0.5, 5.0, 50.0):  # a busy machine may need more to come there
        checkouts = GitCheckouts(tmp_path / "checkouts", place.reader, place.credentials, timeout=timeout)
        await refusal_of(place.source_at(f"git::{place.url}", checkouts).read_channel("stable"))
        if [name for name, _ in place.requests][-1] == "fetch":
            break
    assert [name for name, _ in place.requests][-1] == "fetch"
    assert os.listdir(tmp_path / "checkouts") == []


@each(
    "path, answer, reason, problem",
    [
        (REFS, Answer(status=500), "Unreachable", "HTTP 500"),
        (REFS, Answer(status=404), "Unreachable", "HTTP 404; correct the address, or name a user"),
        (REFS, Answer(status=401), "Unreachable", "HTTP 401; name a user and a password by --addon-credentials"),
        (REFS, Answer(body=b"<html>"), "Unreachable", "it is no git repository"),
        (REFS, Answer(body=b"", headers=GIT_REFS), "Unreachable", "closed the connection"),
        (REFS, Answer(body=b"zzzz", headers=GIT_REFS), "Unreachable", "Invalid pkt-line length prefix"),
        (REFS, Answer(body=b"x" * (LARGEST_REFS + 1), headers=GIT_REFS), "TooLarge", "sends more than 4 MiB"),
        (POSTED, Answer(body=b"<html>"), "Unreachable", "it is no git repository"),
        (POSTED, Answer(body=b"000dERR gone\n", headers=GIT_RESULT), "Unreachable", "gone"),
        (POSTED, Answer(body=b"000b\xff", headers=GIT_RESULT), "Unreachable", "does not match length"),
        (POSTED, Answer(body=b"000aabcdef0000", headers=GIT_RESULT), "Malformed", "the answer is not git's"),
        (POSTED, Answer(body=b"x" * (LARGEST_REFS + 1), headers=GIT_RESULT), "TooLarge", "sends more than 4 MiB"),
        (POSTED, Answer(status=307, headers={"Location": "/x"}), "Malformed", "redirects what was sent to it"),
        (REFS, Answer(status=302, headers={"Location": "/elsewhere"}), "Unreachable", "without info/refs"),
        (REFS, Answer(status=302, headers={"Location": "http://localhost/x"}), "Malformed", "redirects to http:"),
    ],
)
async def test_an_answer_that_is_none(place: GitPlace, path: str, answer: Answer, reason: str, problem: str) -> None:
    place.put_channel("stable", CHANNEL)
    place.answers = {path: answer}
    place.answers["/elsewhere"] = Answer(body=b"x", headers=GIT_REFS)
    error = await refusal_of(place.source.read_channel("stable"))
    assert (error.reason, problem in str(error)) == (reason, True), error


def packet(text: bytes) -> bytes:
    return b"%04x%s" % (len(text) + 4, text)


@each(
    "body, reason, problem",
    [
        (b"x" * (LARGEST_TRANSFER + 1), "TooLarge", "sends more than 32 MiB"),
        (packet(b"packfile\n") + packet(b"\1PACK" + bytes(40)) + b"0000", "Malformed", "is damaged"),
        (packet(b"packfile\n") + packet(b"\3out of disk") + b"0000", "Unreachable", "out of disk"),
        (packet(b"packfile\n") + b"0000", "Malformed", "is damaged"),
        (packet(b"packfile-uris\n") + packet(b"https://127.0.0.1/x sha1 %s" % SHA.encode()) + b"0000", "Malformed", ""),
    ],
)
async def test_objects_that_are_none(place: GitPlace, tmp_path: Path, body: bytes, reason: str, problem: str) -> None:
    place.put_channel("stable", CHANNEL)
    place.fetch_answer = Answer(body=body, headers=GIT_RESULT)
    error = await refusal_of(place.source.read_channel("stable"))
    assert (error.reason, problem in str(error)) == (reason, True), error
    assert [path for _, path in place.requests if path not in (REFS, POSTED)] == []
    assert os.listdir(tmp_path / "checkouts") == []


def sent(pack: bytes) -> Answer:
    """A server's answer with this pack."""
    parts = [packet(b"\1" + pack[at : at + 60_000]) for at in range(0, len(pack), 60_000)]
    return Answer(body=packet(b"packfile\n") + b"".join(parts) + b"0000", headers=GIT_RESULT)


def large_blob() -> Iterable[bytes]:
    return [zeros(1024)]


def doubling_chain() -> Iterable[bytes]:
    return chain(bytes(1 << 14), (twice(1 << size) for size in range(14, 30)))


@each("make", [large_blob, doubling_chain])
async def test_a_small_pack_that_unpacks_to_a_gibibyte_is_refused(
    place: GitPlace, tmp_path: Path, make: Callable[[], Iterable[bytes]]
) -> None:
    place.put_channel("stable", CHANNEL)
    place.fetch_answer = sent(pack := write_pack(make()))
    error = await refusal_of(place.source.read_channel("stable"))
    assert (len(pack) < 2 << 20, error.reason) == (True, "TooLarge")
    assert "cannot be unpacked: no result within 512 MiB of memory" in str(error)
    assert os.listdir(tmp_path / "checkouts") == []


async def test_a_chain_of_ten_thousand_deltas_costs_seconds_at_most(place: GitPlace) -> None:
    texts = [b"# %04d" % number for number in range(10_000)]
    tree = b"100644 stable\0" + object_name(b"blob", texts[-1])
    commit = (
        b"tree %s\nauthor a <a@b> 0 +0000\ncommitter a <a@b> 0 +0000\n\nx" % object_name(b"tree", tree).hex().encode()
    )
    name = object_name(b"commit", commit).hex()
    objects = chain(texts[0], (instead(6, text) for text in texts[1:]))
    place.fetch_answer = sent(write_pack([plain(COMMIT, commit), plain(TREE, tree), *objects]))
    assert await place.source_at(f"git::{place.url}?ref={name}").read_channel("stable") == texts[-1].decode()


async def test_the_objects_of_another_commit_are_refused(place: GitPlace) -> None:
    place.put_channel("stable", CHANNEL)
    others = place.repository.pack()
    place.put_channel("stable", b"manifests: []\n")
    place.fetch_answer = sent(others)
    error = await refusal_of(place.source.read_channel("stable"))
    assert (error.reason, "is damaged" in str(error)) == ("Malformed", True), error


async def test_a_tag_of_another_commit_than_the_server_says_is_refused(place: GitPlace) -> None:
    place.put_channel("stable", CHANNEL)
    place.repository.git("tag", "--annotate", "--message", "x", "v1")
    tag = place.repository.git("rev-parse", "v1")
    said = packet(f"{tag} refs/tags/v1 peeled:{SHA}\n".encode()) + b"0000"
    place.answers[POSTED] = Answer(body=said, headers=GIT_RESULT)
    place.fetch_answer = sent(place.repository.pack())
    error = await refusal_of(place.source_at(f"git::{place.url}?ref=v1").read_channel("stable"))
    assert (error.reason, f"in place of {SHA}" in str(error)) == ("Malformed", True), error


async def test_a_redirect_of_the_question_leads_the_rest(place: GitPlace) -> None:
    place.put_channel("stable", CHANNEL)
    moved = place.url.replace("addons.git", "old.git")
    place.answers["/old.git/info/refs"] = Answer(
        status=301, headers={"Location": f"{place.url}/info/refs?service=git-upload-pack"}
    )
    assert await place.source_at(f"git::{moved}").read_channel("stable") == CHANNEL.decode()
    assert ("POST", "/old.git/git-upload-pack") not in place.requests


async def test_a_public_server_leads_to_no_private_address(tmp_path: Path) -> None:
    names = Names(localhost=["127.0.0.1", "93.184.216.34"], inside=["127.0.0.1"])
    async with git_place(tmp_path, names=names) as place:
        place.answers[REFS] = Answer(
            status=302, headers={"Location": f"{place.url}/info/refs?x".replace("127.0.0.1", "inside")}
        )
        url = place.url.replace("127.0.0.1", "localhost")
        error = await refusal_of(place.source_at(f"git::{url}").read_channel("stable"))
        assert "inside has a private address" in str(error)


async def test_a_password_is_sent_to_its_server_and_shown_nowhere(place: GitPlace) -> None:
    place.put_channel("stable", CHANNEL)
    place.required = encode_basic_auth("me", "s3cret/:@")
    assert "HTTP 401" in str(await refusal_of(place.source.read_channel("stable")))
    host = place.url.split("/")[2]
    place.logins.write_text(f'{{"auths": {{"{host}/addons.git": {{"username": "me", "password": "s3cret/:@"}}}}}}')
    assert await place.source.read_channel("stable") == CHANNEL.decode()
    source = place.source_at(f"git::{place.url.replace('//', '//me:s3cret%2F:%40@')}?ref=gone")
    assert "'gone'" in str(error := await refusal_of(source.read_channel("stable")))
    assert ["s3cret" in text for text in (str(error), source.location, repr(error.__cause__))] == [False] * 3
