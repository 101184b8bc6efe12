"""`hookrunner sandbox` as a user meets it: what it prints, where it can be reached, what it refuses, how it ends.

Level: sandbox."""

import asyncio
import os
import signal
import ssl
import stat
import urllib.error
import urllib.request
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import launcher
from tests.controlplane.certs import make_server_certificate
from tests.controlplane.rest import send
from tests.controlplane.tools import find_tool
from tests.sandboxes import read_access
from tests.security.stalls import watched

pytestmark = pytest.mark.usefixtures("launcher")


@dataclass(frozen=True)
class Child:
    """A running sandbox. What it logs is in a file."""

    program: launcher.Program
    errors: Path

    async def ended(self) -> int:
        """Wait for its end, which should be soon; the exit code."""
        return await asyncio.wait_for(asyncio.to_thread(self.program.wait), 45)


@asynccontextmanager
async def sandbox(tmp_path: Path, *flags: str) -> AsyncIterator[tuple[Child, str]]:
    """The running program and the line that it printed when it was ready."""
    words = ("sandbox", "--kubeconfig", str(tmp_path / "kc"), *flags)
    ours, theirs = os.pipe()
    with os.fdopen(ours) as output, (tmp_path / "errors").open("wb") as errors:
        program = launcher.start(words, cwd=tmp_path, env=os.environ, stdout=theirs, stderr=errors.fileno())
        os.close(theirs)
        try:
            yield Child(program, tmp_path / "errors"), await asyncio.to_thread(output.readline)
        finally:
            program.send_signal(signal.SIGKILL)
            program.wait()


def server(tmp_path: Path) -> str:
    return str(read_access(tmp_path / "kc").url)


async def kubectl(tmp_path: Path, *arguments: str) -> str:
    environ = {**os.environ, "KUBECONFIG": str(tmp_path / "kc"), "KUBECACHEDIR": str(tmp_path / "cache")}
    child = await asyncio.create_subprocess_exec(find_tool("kubectl"), *arguments, stdout=PIPE, env=environ)
    return (await child.communicate())[0].decode()


async def test_sandbox_prints_one_line_for_the_shell_and_kubectl_works(tmp_path: Path) -> None:
    async with sandbox(tmp_path) as (_, line):
        assert line == f"export KUBECONFIG={tmp_path / 'kc'}\n"
        assert "default" in await kubectl(tmp_path, "get", "namespaces")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_sandbox_ends_at_once_with_an_open_watch(tmp_path: Path, number: signal.Signals) -> None:
    async with sandbox(tmp_path) as (child, _):
        access = read_access(tmp_path / "kc")
        asked = urllib.request.Request(f"{access.url}/api/v1/pods?watch=1", headers=access.headers)
        with await asyncio.to_thread(urllib.request.urlopen, asked, context=access.tls):
            child.program.send_signal(number)
            assert await child.ended() == 0


async def test_sandbox_listens_on_loopback_and_prints_that(tmp_path: Path) -> None:
    async with sandbox(tmp_path) as (child, _):
        assert server(tmp_path).startswith("https://127.0.0.1:")
        assert "for clients with the token in its kubeconfig" in child.errors.read_text()


async def code(request: urllib.request.Request, tls: ssl.SSLContext | None) -> int:
    return (await asyncio.to_thread(send, request, tls, 60)).status


async def test_another_user_of_the_machine_is_refused_without_the_token(tmp_path: Path) -> None:
    """The port of a loopback address is open to all of them; the kubeconfig is not."""
    async with sandbox(tmp_path):
        access = read_access(tmp_path / "kc")
        secrets = f"{access.url}/api/v1/secrets"
        ours = urllib.request.Request(secrets, headers=access.headers)
        guessed = urllib.request.Request(secrets, headers={"Authorization": "Bearer guessed"})
        faults = urllib.request.Request(f"{access.url}/_sandbox/faults", b"{}")
        requests = (ours, urllib.request.Request(secrets), guessed, faults)
        assert [await code(one, access.tls) for one in requests] == [200, 401, 401, 401]
        assert "cm" in await kubectl(tmp_path, "create", "configmap", "cm", "--as", "jane", "-o", "name")


async def test_each_start_makes_another_token(tmp_path: Path) -> None:
    tokens = set()
    for _ in range(2):
        async with sandbox(tmp_path):
            tokens.add(read_access(tmp_path / "kc").headers["Authorization"])
    assert (len(tokens), min(map(len, tokens)) > 40) == (2, True)


@pytest.mark.parametrize("flags", [("--token", "none"), ("--sandbox-token", "")])
async def test_every_user_of_the_machine_is_answered_without_a_token(tmp_path: Path, flags: tuple[str, str]) -> None:
    async with sandbox(tmp_path, *flags) as (child, _):
        assert await code(urllib.request.Request(f"{server(tmp_path)}/api/v1/secrets"), None) == 200
        assert "for every user of this machine" in child.errors.read_text()


async def test_kubeconfig_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    async with sandbox(tmp_path):
        assert stat.S_IMODE((tmp_path / "kc").stat().st_mode) == 0o600


async def test_seeds_are_there_from_the_beginning(tmp_path: Path) -> None:
    (tmp_path / "seed.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: new}}")
    async with sandbox(tmp_path, "--seed", str(tmp_path / "seed.yaml")):
        assert "configmap/c" in await kubectl(tmp_path, "get", "configmap", "-n", "new", "-o", "name")


async def test_remote_clients_need_a_token_and_tls(tmp_path: Path) -> None:
    certificates = make_server_certificate(tmp_path, "server")
    flags = ("--address", "0.0.0.0", "--token", "secret", "--tls-cert", str(certificates.certificate))
    async with sandbox(tmp_path, *flags, "--tls-key", str(certificates.key)) as (_, line):
        assert line.startswith("export")
        url = server(tmp_path)
        tls = ssl.create_default_context(cafile=str(certificates.certificate))
        with pytest.raises(urllib.error.HTTPError, match="401"):
            await asyncio.to_thread(urllib.request.urlopen, f"{url}/api/v1/pods", context=tls)
        asked = urllib.request.Request(f"{url}/api/v1/pods", headers={"Authorization": "Bearer secret"})
        with await asyncio.to_thread(urllib.request.urlopen, asked, context=tls) as answer:
            assert answer.status == 200


REFUSED = {
    "open to all": (("--address", "0.0.0.0"), 2, "it needs --sandbox-tls-cert and --sandbox-tls-key too"),
    "open without a token": (
        ("--address", "0.0.0.0", "--token", ""),
        2,
        "it needs --sandbox-token, --sandbox-tls-cert and --sandbox-tls-key too",
    ),
    "odd token": (("--token", "a b"), 2, "--sandbox-token: it is sent in a header"),
    "no address": (("--address", "nowhere"), 2, "'nowhere' is no IP address"),
    "no port": (("--port", "x"), 2, "--sandbox-port: 'x' cannot be used"),
    "where to look": (("--port", "x"), 2, "Try 'hookrunner sandbox --help'"),
    "half of TLS": (("--tls-cert", "c"), 2, "are given together"),
    "no certificate": (("--tls-cert", "c", "--tls-key", "bad.yaml"), 2, "cannot be used: No such file"),
    "bad certificate": (("--tls-cert", "bad.yaml", "--tls-key", "bad.yaml"), 2, "cannot be used: [SSL"),
    "missing seed": (("--seed", "nothing.yaml"), 1, "nothing.yaml cannot be read: No such file"),
    "bad seed": (("--seed", "bad.yaml"), 1, 'bad.yaml: ConfigMap in version "v1" cannot be handled as a ConfigMap'),
    "odd seed": (("--seed", "odd.yaml"), 1, "it needs apiVersion, kind and metadata"),
    "broken seed": (("--seed", "broken.yaml"), 1, "broken.yaml, document 1: not YAML: line 1"),
    "unknown kind": (("--seed", "kind.yaml"), 1, "the sandbox serves no example.com/v1 Thing"),
    "no place": (("--kubeconfig", "/proc/none/kc"), 1, "the kubeconfig /proc/none/kc cannot be written: No such file"),
    "bad data": (("--data", "bad.yaml"), 1, "choose another file with --data"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_sandbox_flags_are_reported(tmp_path: Path, name: str) -> None:
    flags, code, message = REFUSED[name]
    (tmp_path / "bad.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: [1]}" + "\n" * 200)
    (tmp_path / "odd.yaml").write_text("just: text")
    (tmp_path / "broken.yaml").write_text("a: }")
    (tmp_path / "kind.yaml").write_text("{apiVersion: example.com/v1, kind: Thing, metadata: {name: t}}")
    with watched():  # a sandbox that starts would run for hours
        ended = launcher.run(["sandbox", "--kubeconfig", str(tmp_path / "kc"), *flags], cwd=tmp_path, env=os.environ)
    assert (ended.stdout, ended.returncode) == ("", code), ended
    assert message in ended.stderr


async def test_occupied_sandbox_port_is_reported(tmp_path: Path) -> None:
    async with sandbox(tmp_path):
        port = server(tmp_path).rpartition(":")[2]
        async with sandbox(tmp_path, "--port", port) as (child, _):
            assert await child.ended() == 1
            assert "choose another place with --sandbox-port" in child.errors.read_text()
