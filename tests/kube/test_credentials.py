"""Ways to name a cluster, each through a child process, and how credentials are renewed. The child is forked, with the
same work as an executed one: `tests/test_launcher.py` compares them. Level: pure."""

import asyncio
import json
import os
import ssl
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from hookrunner.errors import BadKubeConfig
from hookrunner.kube import cluster_lookup, credentials
from hookrunner.kube.cluster_lookup import Lookup
from hookrunner.kube.credentials import Connection, Credentials, load_connection
from hookrunner.settings import KubeSettings
from tests.controlplane.certs import make_server_certificate
from tests.controlplane.kubeconfig import Access, write_kubeconfig
from tests.controlplane.tools import find_tool
from tests.kube.real import connection_of

pytestmark = pytest.mark.usefixtures("forking")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Neither the developer's own kubeconfig nor left-over temporary files."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    yield tmp_path
    assert list(scratch.iterdir()) == []


def kubeconfig(file: Path, user: Any = None, cluster: Any = None, name: str = "main", **context: str) -> Path:
    config = {
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}.example:6443"} | (cluster or {})}],
        "users": [{"name": name, "user": user or {"token": f"{name}-token"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name} | context}],
    }
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(config))
    return file


def kubectl(*words: str) -> str:
    return subprocess.run(
        [find_tool("kubectl"), "config", *words], capture_output=True, text=True, check=True
    ).stdout.strip()


async def load(config: Path | None = None, context: str = "") -> Connection:
    return await load_connection(Lookup(KubeSettings(config=config, context=context)))


async def test_named_kubeconfig_gives_the_whole_connection(home: Path) -> None:
    details = {"insecure-skip-tls-verify": True, "tls-server-name": "inner", "proxy-url": "http://proxy:3128"}
    connection = await load(kubeconfig(home / "config", cluster=details, namespace="prod"))
    assert connection.server == "https://main.example:6443"
    assert connection.authorization == "Bearer main-token"
    assert (connection.insecure, connection.tls_server_name, connection.proxy) == (True, "inner", "http://proxy:3128")
    assert connection.namespace == "prod"
    assert "main-token" not in repr(connection)


async def test_clients_of_the_test_bed_have_the_connection_that_is_found(tmp_path: Path) -> None:
    """`connection_of` is a shortcut of tests on a cluster."""
    certificate = make_server_certificate(tmp_path, "ca").certificate
    written = write_kubeconfig(tmp_path / "kc", Access("https://127.0.0.1:6443", certificate, "secret"))
    assert connection_of(written) == await load(written)


async def test_kubeconfig_in_the_home_directory_is_read(home: Path) -> None:
    kubeconfig(home / ".kube" / "config")
    assert (await load()).server == "https://main.example:6443"


@pytest.mark.slow
async def test_a_list_of_files_is_merged_and_a_context_chosen(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [kubeconfig(home / name, name=name) for name in ("one", "two")]
    monkeypatch.setenv("KUBECONFIG", ":".join(map(str, [*files, home / "missing"])))
    assert (await load(context="one")).authorization == "Bearer one-token"
    assert (await load(context="two")).authorization == "Bearer two-token"


@pytest.mark.slow
async def test_first_of_several_current_contexts_counts_as_for_kubectl(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [kubeconfig(home / name, name=name) for name in ("one", "two")]
    monkeypatch.setenv("KUBECONFIG", ":".join(map(str, files)))
    assert kubectl("current-context") == "one"
    assert (await load()).server == "https://one.example:6443"


@pytest.mark.slow
async def test_a_context_is_made_the_current_one_of_a_kubeconfig_for_hooks(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds in every directory, and says what kubectl finds in the files that it was made of."""
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./login", "interactiveMode": "Never"}
    (home / "token").write_text("t")
    kubeconfig(home / "first" / "one", name="one", cluster={"certificate-authority": "ca.crt"})
    two = kubeconfig(home / "two", {"tokenFile": "token", "exec": plugin}, name="two", namespace="n")
    theirs = json.loads(two.read_text())
    two.write_text(
        json.dumps(theirs | {"clusters": [{"name": "one", "cluster": {"server": "x"}}, *theirs["clusters"]]})
    )
    monkeypatch.setenv("KUBECONFIG", f"first/one:{home / 'missing'}:two")
    monkeypatch.chdir(home)
    await load_connection(Lookup(KubeSettings(context="two", derived=home / "derived")))
    assert stat.S_IMODE((home / "derived").stat().st_mode) == 0o600
    written = json.loads((home / "derived").read_text())
    assert written["clusters"][0]["cluster"]["certificate-authority"] == str(home / "first" / "ca.crt")
    assert written["users"][1]["user"]["tokenFile"] == str(home / "token")
    assert written["users"][1]["user"]["exec"]["command"] == str(home / "login")
    names = ("-o=jsonpath={.contexts}{.clusters[*].cluster.server}{.users[*].name}", "--raw")
    wanted = kubectl("view", *names)
    assert kubectl("view", *names, f"--kubeconfig={home / 'derived'}") == wanted
    assert kubectl("current-context", f"--kubeconfig={home / 'derived'}") == "two"


@pytest.mark.slow
async def test_a_renewal_writes_the_kubeconfig_for_hooks_again(home: Path) -> None:
    file = kubeconfig(home / "config")
    settings = KubeSettings(config=file, context="main", derived=home / "derived")
    credentials_ = Credentials(settings, await load_connection(Lookup(settings)))
    kubeconfig(file, {"token": "new"})
    await credentials_.renew(await credentials_.fresh())
    assert json.loads((home / "derived").read_text())["users"] == [{"name": "main", "user": {"token": "new"}}]


async def test_certificates_come_as_text_and_leave_no_file(home: Path) -> None:
    made = make_server_certificate(home, "client")
    pair = {"client-certificate": str(made.certificate), "client-key": str(made.key)}
    connection = await load(kubeconfig(home / "config", user=pair, cluster={"certificate-authority": "client.crt"}))
    assert connection.cert == made.certificate.read_text()
    assert connection.tls().verify_mode is ssl.CERT_REQUIRED
    assert not connection.tls().verify_flags & ssl.VERIFY_X509_STRICT


async def test_unusable_certificates_are_reported_with_their_origin_while_loading(home: Path) -> None:
    """Not by the first request: a watch would die of them, and the start would not be refused."""
    (home / "bad.crt").write_text("nonsense")
    pair = {"client-certificate": str(home / "bad.crt"), "client-key": str(home / "bad.crt")}
    with pytest.raises(BadKubeConfig, match=r"kubeconfig .*/config.*: certificate or key cannot be used"):
        await load(kubeconfig(home / "config", user=pair))


@pytest.mark.slow
async def test_a_renewal_with_certificates_that_cannot_be_used_leaves_what_we_have(home: Path) -> None:
    (home / "bad.crt").write_text("nonsense")
    file = kubeconfig(home / "config", cluster={"certificate-authority": "bad.crt"})
    connection = Connection("https://x", authorization="Bearer old", expires=time.time() + 5)
    assert await Credentials(KubeSettings(config=file), connection).fresh() is connection


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "context", "complaint"),
    [
        (None, "", "no such file"),
        ("", "", "empty"),
        ("{", "", "not YAML: line 1"),
        ("[]", "", "kubeconfig '.*/config': "),
        ("{}", "", "current-context"),
        ("{current-context: a, contexts: []}", "", "name a"),
        ("{contexts: []}", "prod", "context 'prod': .*name prod"),
    ],
)
async def test_a_file_that_cannot_be_used_is_named(home: Path, text: str | None, context: str, complaint: str) -> None:
    file = home / "config"
    if text is not None:
        file.write_text(text)
    with pytest.raises(BadKubeConfig, match=f"(?s){complaint}") as caught:
        await load(file, context)
    assert str(file) in str(caught.value)


async def test_without_any_file_the_pod_is_tried_and_both_are_named() -> None:
    with pytest.raises(BadKubeConfig, match=r"no such file.*; and not in a pod either: "):
        await load()


async def test_named_context_excludes_the_pods_own_cluster() -> None:
    with pytest.raises(BadKubeConfig, match="context 'staging': no such file") as raised:
        await load(context="staging")
    assert "pod" not in str(raised.value)


def plugin(home: Path, body: str) -> Any:
    """An exec plugin in Python that counts its runs in `runs`."""
    program = home / "plugin"
    program.write_text(f"#!{sys.executable}\nopen({str(home / 'runs')!r}, 'a').write('x')\n{body}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program)}}


def answer(status: Any) -> str:
    head = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
    return f"print({orjson.dumps(head | {'status': status}).decode()!r})"


@pytest.mark.slow
async def test_an_exec_plugin_gives_a_token_with_an_end(home: Path) -> None:
    user = plugin(home, answer({"token": "t", "expirationTimestamp": "2030-01-01T00:00:00Z"}))
    connection = await load(kubeconfig(home / "config", user=user))
    assert (connection.authorization, connection.expires) == ("Bearer t", 1893456000.0)
    assert connection.means.startswith(f"exec plugin '{home}")


@pytest.mark.slow
async def test_an_exec_plugin_that_fails_is_quoted(home: Path) -> None:
    user = plugin(home, "import sys; sys.exit('log in first')")
    with pytest.raises(BadKubeConfig, match=r"exec: process returned 1\. log in first"):
        await load(kubeconfig(home / "config", user=user))


async def test_an_exec_plugin_that_hangs_ends_with_its_loading(home: Path) -> None:
    note = home / "pid"
    os.mkfifo(note)
    user = plugin(home, f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(600)")
    waiting = asyncio.ensure_future(load(kubeconfig(home / "config", user=user)))
    pid = await asyncio.to_thread(note.read_text)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    deadline = time.monotonic() + 60
    while is_running(pid):  # what is killed lives on for a moment
        assert time.monotonic() < deadline
        os.sched_yield()


def is_running(pid: str) -> bool:
    """A killed process may stay as a zombie until its parent collects it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:  # gone, or going
        return False


@pytest.mark.slow
async def test_credentials_about_to_expire_are_renewed_once_for_all(home: Path) -> None:
    user = plugin(home, answer({"token": "new", "expirationTimestamp": "2030-01-01T00:00:00Z"}))
    settings = KubeSettings(config=kubeconfig(home / "config", user=user))
    current = Credentials(settings, Connection("https://x", authorization="Bearer old", expires=time.time() + 5))
    found = await asyncio.gather(*(current.fresh() for _ in range(5)))
    assert {connection.authorization for connection in found} == {"Bearer new"}
    assert (home / "runs").read_text() == "x"


@pytest.mark.slow
async def test_refused_credentials_are_loaded_again_but_not_for_every_refusal(home: Path) -> None:
    settings = KubeSettings(config=kubeconfig(home / "config", user=plugin(home, answer({"token": "new"}))))
    current = Credentials(settings, old := Connection("https://x", authorization="Bearer old"))
    new = await current.renew(old)
    assert new.authorization == "Bearer new"
    assert await current.renew(old) is new
    assert await current.renew(new) is new
    assert (home / "runs").read_text() == "x"


@pytest.mark.slow
async def test_a_renewal_stays_in_its_cluster_when_another_context_becomes_the_current_one(home: Path) -> None:
    """By `kubectl config use-context`, while we run."""
    file = kubeconfig(home / "config", name="one")
    settings = KubeSettings(config=file)
    ours = Credentials(settings, await load_connection(Lookup(settings)))
    both = json.loads(file.read_text())
    for key, value in json.loads(kubeconfig(home / "config", name="two").read_text()).items():
        both[key] = both[key] + value if isinstance(value, list) else value
    both["users"][0]["user"]["token"] = "new"
    file.write_text(json.dumps(both))
    renewed = await ours.renew(await ours.fresh())
    assert (renewed.server, renewed.authorization) == ("https://one.example:6443", "Bearer new")


@pytest.mark.slow
async def test_a_proxy_of_the_environment_is_not_for_this_machine(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Go's clients. One that the kubeconfig names is for every server."""
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    for server in ("http://127.0.0.1:8001", "https://[::1]:6443", "https://localhost"):
        assert (await load(kubeconfig(home / "config", cluster={"server": server}))).proxy == ""
    named = {"server": "https://localhost", "proxy-url": "http://other:3128"}
    assert (await load(kubeconfig(home / "config", cluster=named))).proxy == "http://other:3128"


async def test_a_renewal_that_fails_leaves_what_we_have(home: Path) -> None:
    connection = Connection("https://x", authorization="Bearer old", expires=time.time() + 5)
    current = Credentials(KubeSettings(config=home / "missing"), connection)
    assert await current.fresh() is connection


@pytest.mark.slow
@pytest.mark.parametrize(
    ("user", "means"),
    [
        ({"token": "abc"}, "token"),
        ({"tokenFile": "token"}, "token file"),
        ({"username": "a", "password": "b"}, "user name and password"),
    ],
)
async def test_connection_names_the_user_and_its_means(home: Path, user: dict[str, str], means: str) -> None:
    (home / "token").write_text("one")
    connection = await load(kubeconfig(home / "config", user=user))
    assert (connection.user, connection.means) == ("main", means)


async def test_a_relative_token_file_is_found_beside_its_config(home: Path) -> None:
    (home / "token").write_text("one\n")
    connection = await load(kubeconfig(home / "config", user={"tokenFile": "token"}))
    assert (connection.authorization, connection.token_file) == ("Bearer one", str(home / "token"))
    (home / "token").write_text("two\n")
    assert (await Credentials(KubeSettings(), connection).renew(connection)).authorization == "Bearer two"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bypass", "proxy"), [("", "http://proxy:3128"), ("example", ""), ("10.0.0.0/8,main.example", "")]
)
async def test_proxies_of_the_environment_are_used_and_bypassed(
    home: Path, monkeypatch: pytest.MonkeyPatch, bypass: str, proxy: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", bypass)
    assert (await load(kubeconfig(home / "config"))).proxy == proxy


@pytest.mark.slow
def test_a_pod_uses_its_service_account(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process of its own, for the package must not be imported here."""
    (home / "token").write_text("pod-token\n")
    (home / "ca.crt").write_text("the CA\n")
    (home / "namespace").write_text("prod")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    code = (
        "import json, pathlib, runpy, sys; room = runpy.run_path(sys.argv[1]); "
        "print(json.dumps(room['in_cluster'](pathlib.Path(sys.argv[2]))))"
    )
    program = Path(credentials.__file__).with_name("kubeconfig.py")
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, str(program), str(home)], stdout=subprocess.PIPE, check=True
    )
    connection = Connection(**orjson.loads(done.stdout))
    assert (connection.server, connection.ca, connection.namespace) == ("https://[fd00::1]:443", "the CA\n", "prod")
    assert (connection.authorization.lower(), connection.token_file) == ("bearer pod-token", str(home / "token"))


@pytest.mark.slow
def test_the_kubernetes_package_stays_out_of_this_process() -> None:
    code = "import sys, hookrunner.kube.objects, hookrunner.kube.watch; print('kubernetes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout == b"False\n"


def test_a_program_that_reads_no_kubeconfig_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    for errors, quoted in ((b"Traceback\nImportError: no yaml\n", "ImportError: no yaml"), (b"", "no output")):
        lookup = Lookup(KubeSettings())
        lookup.output()
        monkeypatch.setattr(lookup, "output", lambda errors=errors: (b"", errors))
        with pytest.raises(BadKubeConfig, match=f"the program that reads kubeconfig failed: {quoted}$"):
            asyncio.run(load_connection(lookup))


async def test_a_lookup_that_takes_too_long_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_lookup, "_TIMEOUT", 0.1)
    with pytest.raises(BadKubeConfig, match=r"no credentials within 0\.1 s: does an exec plugin hang\?"):
        await load(kubeconfig(home / "config", user=plugin(home, "import time; time.sleep(600)")))


async def test_long_texts_and_short_numbers_of_a_kubeconfig_are_no_large_numbers(home: Path) -> None:
    cluster = {"extensions": [{"name": "x", "extension": {"number": 5, "text": "a" * 2000}}]}
    assert await load(kubeconfig(home / "config", cluster=cluster))


async def test_a_kubeconfig_that_we_pass_on_is_named_if_it_cannot_be_used(home: Path) -> None:
    with pytest.raises(BadKubeConfig, match=f"kubeconfig '{home}/config': "):
        await load_connection(Lookup(KubeSettings(config=home / "config", text="a: [")))
