"""The contract: what the Kubernetes API promises, asserted on a real control plane and on the sandbox alike.

`api` is one server; each case runs on all of `SERVERS`. Python cases (`test_*.py`) tell what happens over time: lists,
watches, deletions. Everything that is one request and one answer is a *story* (`stories/*.golden`): requests, and below
them what the real control plane answered, written by `python -m tests.kubesandbox.contract.record [FILE…]` with
`HOOKRUNNER_TEST_KUBECONFIG` set; see `story.py` for the language. `scripts/*.sh` are run by kubectl on both servers,
and what it prints must be the same.

A case must not depend on others: its names, groups and namespaces are its own. `ns` is shared by the cases of one file
because a namespace costs the real control plane a tenth of a second of work; ask `api.namespace()` for an empty one.
"""

import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import takewhile
from pathlib import Path

import pytest

from tests.controlplane.cluster import Cluster
from tests.kubesandbox.contract.admission import Case, opened
from tests.kubesandbox.contract.api import Api
from tests.kubesandbox.contract.conversions import Convertible, converting, define, marked, version
from tests.kubesandbox.contract.webhook import Webhook
from tests.kubesandbox.contract.webhook import serving as webhook_serving

SERVERS = [pytest.param("real", marks=pytest.mark.cluster), pytest.param("sandbox", marks=pytest.mark.story)]


@pytest.fixture(scope="session")
def real(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The real control plane."""
    scratch = tmp_path_factory.mktemp("contract-real")
    with closing(Api("real", cluster.kubeconfig, scratch, cluster.compact)) as served:
        yield served


@pytest.fixture(scope="session")
def sandboxed(launcher: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A sandbox of this worker's own."""
    with sandbox(tmp_path_factory.mktemp("contract-sandbox"), "--token=none") as served:
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
def sandbox(scratch: Path, *flags: str) -> Iterator[Api]:
    """A sandbox in a process of its own."""
    kubeconfig = scratch / "sandbox.kubeconfig"
    command = [sys.executable, "-m", "kubesandbox", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            lines = [*takewhile(lambda line: line != "current-context: sandbox\n", process.stdout)]
            assert lines, f"the sandbox ended with {process.poll()}"
            kubeconfig.write_text("".join([*lines, "current-context: sandbox\n"]))
            served = Api("sandbox", kubeconfig, scratch, lambda: served.request("POST", "/_sandbox/compact"))
            with closing(served):
                yield served
        finally:
            process.terminate()
