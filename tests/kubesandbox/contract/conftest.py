"""The contract: what the Kubernetes API promises, asserted on a real control plane and on the sandbox alike.

`api` is one server; each case runs on all of `SERVERS`. Python cases (`test_*.py`) tell what happens over time: lists,
watches, deletions. Everything that is one request and one answer is a *story* (`stories/*.requests`, see `story.py` for
the language); what the real control plane answered is recorded (`tests/kubesandbox/recording.py`), so that the sandbox
is compared in each run. `scripts/*.sh` are run by kubectl on both servers, and what it prints must be the same.

A case must not depend on others: its names, groups and namespaces are its own. `ns` is shared by the cases of one file
because a namespace costs the real control plane a tenth of a second of work; ask `api.namespace()` for an empty one.
"""

import asyncio
import secrets
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import takewhile
from pathlib import Path

import pytest

from kubesandbox.sandbox import Options, Sandbox, serving
from tests.controlplane.cluster import Cluster
from tests.kubesandbox.contract.admission import Case, opened
from tests.kubesandbox.contract.api import Api
from tests.kubesandbox.contract.conversions import Convertible, converting, define, marked, version
from tests.kubesandbox.contract.webhook import Webhook
from tests.kubesandbox.contract.webhook import serving as webhook_serving

SERVERS = [pytest.param("real", marks=pytest.mark.cluster), "sandbox"]


@pytest.fixture(scope="session")
def real(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The real control plane."""
    scratch = tmp_path_factory.mktemp("contract-real")
    with closing(Api("real", cluster.kubeconfig, scratch, cluster.compact)) as served:
        yield served


@pytest.fixture(scope="session")
def sandboxed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A sandbox of this worker's own, in a thread of this process."""
    with sandbox_inside(tmp_path_factory.mktemp("contract-sandbox")) as served:
        yield served


@pytest.fixture(scope="session", params=SERVERS)
def api(request: pytest.FixtureRequest) -> Api:
    """One server after the other."""
    served: Api = request.getfixturevalue("real" if request.param == "real" else "sandboxed")
    return served


@pytest.fixture(scope="module")
def ns(api: Api) -> Iterator[str]:
    """The namespace that the cases of one file share. What they have made on this server goes with it."""
    yield api.namespace()
    api.clean()


@pytest.fixture
def name() -> str:
    """A name that no other case has."""
    return f"c{secrets.token_hex(4)}"


@pytest.fixture(scope="session")
def webhook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhook]:
    """A webhook that both servers can reach."""
    with webhook_serving(tmp_path_factory.mktemp("contract-webhook")) as served:
        yield served


@pytest.fixture
def case(api: Api, ns: str, name: str, webhook: Webhook) -> Iterator[Case]:
    """A case of admission."""
    with opened(api, ns, name, webhook) as made:
        yield made


@pytest.fixture(params=["Mutating", "Validating"])
def registered(case: Case, request: pytest.FixtureRequest) -> Case:
    """A case with a webhook of each kind."""
    case.register(request.param, case.hook())
    return case


@pytest.fixture(scope="module")
def defined(api: Api, ns: str, webhook: Webhook) -> Iterator[Convertible]:
    """A kind that the cases share."""
    yield from define(api, ns, webhook, [version("v1", stored=True), version("v2"), version("v3")])


@pytest.fixture
def cats(defined: Convertible) -> Convertible:
    defined.answers(converting(marked))
    defined.webhook.asked.clear()
    return defined


@contextmanager
def sandbox_inside(scratch: Path) -> Iterator[Api]:
    """A sandbox without a token in this process: its event loop runs in a thread. It starts in milliseconds."""
    started, ended = Future[tuple[Sandbox, asyncio.AbstractEventLoop]](), asyncio.Event()
    with ThreadPoolExecutor(1, "sandbox") as thread:
        thread.submit(asyncio.run, _serve(started, ended))
        served, loop = started.result()
        try:
            with closing(_api(served.kubeconfig(), scratch)) as api:
                yield api
        finally:
            loop.call_soon_threadsafe(ended.set)


async def _serve(started: Future[tuple[Sandbox, asyncio.AbstractEventLoop]], ended: asyncio.Event) -> None:
    try:
        async with serving(Options()) as served:
            started.set_result((served, asyncio.get_running_loop()))
            await ended.wait()
    except OSError as error:  # it cannot listen
        started.set_exception(error)


@contextmanager
def sandbox(scratch: Path, *flags: str) -> Iterator[Api]:
    """A sandbox in a process of its own."""
    command = [sys.executable, "-m", "kubesandbox", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            lines = [*takewhile(lambda line: line != "current-context: sandbox\n", process.stdout)]
            assert lines, f"the sandbox ended with {process.poll()}"
            served = _api("".join([*lines, "current-context: sandbox\n"]), scratch)
            with closing(served):
                yield served
        finally:
            process.terminate()


def _api(kubeconfig: str, scratch: Path) -> Api:
    file = scratch / "sandbox.kubeconfig"
    file.write_text(kubeconfig)
    served = Api("sandbox", file, scratch, lambda: served.request("POST", "/_sandbox/compact"))
    return served
