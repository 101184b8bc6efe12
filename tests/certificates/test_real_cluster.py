"""Secrets on a real control plane: races, rights, immutability, what kubectl does to them. Level: control plane."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from hookrunner.certificates.issuing import issue, service_names
from hookrunner.certificates.material import Material, lacking
from hookrunner.certificates.own import DesiredCertificate, own
from hookrunner.certificates.provided import LatestMaterial, from_secret
from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Credentials
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from tests.certificates.made import YEAR
from tests.certificates.reading import Reader, reading
from tests.certificates.secrets import NAME, data, secret, serial_of
from tests.controlplane.cluster import Cluster
from tests.fakes.transports import all_closed
from tests.kube.real import credentials_of

NAMES = service_names("hooks", "default")
SECRETS = {"apiGroups": [""], "resources": ["secrets"]}
READ = SECRETS | {"verbs": ["get", "list", "watch"], "resourceNames": [NAME]}
CREATE = SECRETS | {"verbs": ["create"]}
UPDATE = SECRETS | {"verbs": ["update"], "resourceNames": [NAME]}


class Replica:
    """Connections of its own, as another process would have."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.watches = Watches(client, Discovery(client), Metrics(""), 75)


@asynccontextmanager
async def replica_with(credentials: Credentials) -> AsyncIterator[Replica]:
    async with Client(credentials, Requests(Metrics(""))) as client:
        yield Replica(client)


@asynccontextmanager
async def owner(credentials: Credentials, namespace: str) -> AsyncIterator[Reader]:
    async with (
        replica_with(credentials) as replica,
        reading(
            own(LatestMaterial(NAME), replica.client, replica.watches, DesiredCertificate(namespace, NAME, NAMES))
        ) as reader,
    ):
        yield reader


@pytest.fixture(autouse=True)
async def closed() -> AsyncIterator[None]:
    """No connection outlives its test."""
    yield
    await all_closed()


@pytest.fixture
async def replicas(cluster: Cluster, namespace: str) -> AsyncIterator[list[Reader]]:
    credentials = credentials_of(cluster.kubeconfig)
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(owner(credentials, namespace)) for _ in range(10)]


class Stored:
    """The Secret, as others see and treat it."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.path = f"/api/v1/namespaces/{namespace}/secrets"

    def read(self) -> Any:
        return self.cluster.request("GET", f"{self.path}/{NAME}").body

    def create(self, material: Material) -> None:
        self.cluster.create(self.path, secret(self.namespace, data(material)))

    def patch(self, **change: Any) -> None:
        self.cluster.kubectl("patch", "secret", NAME, "-n", self.namespace, "--type=merge", "-p", json.dumps(change))

    def delete(self) -> None:
        self.cluster.kubectl("delete", "secret", NAME, "-n", self.namespace)


@pytest.fixture
def stored(cluster: Cluster, namespace: str) -> Stored:
    return Stored(cluster, namespace)


async def serials(replicas: list[Reader]) -> set[int]:
    return {material.serial for material in await asyncio.gather(*(one.next() for one in replicas))}


async def see_warning(reader: Reader, capfd: pytest.CaptureFixture[str], *words: str) -> None:
    """Wait until all of this was logged, by the owner and by its watch; meanwhile, there is no certificate."""
    logged = ""
    async with asyncio.timeout(60):
        while not all(each in logged for each in words):
            assert await reader.quiet(0.2)
            logged += capfd.readouterr().err.replace("\\", "")


async def test_one_of_ten_replicas_creates_the_certificate(replicas: list[Reader], stored: Stored) -> None:
    assert await serials(replicas) == {serial_of(stored.read())}
    assert stored.read()["type"] == "kubernetes.io/tls"


async def test_deleted_or_invalid_secret_is_replaced_for_all_replicas(replicas: list[Reader], stored: Stored) -> None:
    before, nonsense = await serials(replicas), {"tls.crt": base64.b64encode(b"nonsense").decode()}
    for harm in (stored.delete, lambda: stored.patch(data=nonsense)):
        harm()
        after = await serials(replicas)
        assert after == {serial_of(stored.read())} != before
        before = after


async def test_a_secret_of_another_type_keeps_it(cluster: Cluster, namespace: str, stored: Stored) -> None:
    """The type of a Secret cannot be changed."""
    cluster.kubectl("create", "secret", "generic", NAME, "-n", namespace, "--from-literal=mine=1")
    async with owner(credentials_of(cluster.kubeconfig), namespace) as reader:
        assert not lacking(await reader.next(), NAMES)
    found = stored.read()
    assert (found["type"], found["data"]["mine"]) == ("Opaque", base64.b64encode(b"1").decode())


async def test_immutable_secret_is_reported_and_waited_for(
    cluster: Cluster, namespace: str, stored: Stored, capfd: pytest.CaptureFixture[str]
) -> None:
    stored.create(old := issue(NAMES, time.time() - 0.7 * YEAR))
    stored.patch(immutable=True)
    async with owner(credentials_of(cluster.kubeconfig), namespace) as reader:
        assert await reader.next() == old
        await see_warning(reader, capfd, "delete it, and it will be created again")
        stored.delete()
        assert (await reader.next()).serial == serial_of(stored.read())


async def test_rights_limited_to_the_one_secret_are_enough(cluster: Cluster, namespace: str, stored: Stored) -> None:
    user = cluster.user("enough", namespace, [READ, CREATE, UPDATE])
    async with owner(credentials_of(user.kubeconfig), namespace) as reader:
        await reader.next()
        stored.patch(data={"tls.key": ""})
        assert (await reader.next()).serial == serial_of(stored.read())


@pytest.mark.parametrize(
    ("rules", "there", "problem"),
    [
        ([], False, 'cannot list resource "secrets"'),
        ([READ, UPDATE], False, 'cannot create resource "secrets"'),
        ([READ, CREATE], True, 'cannot update resource "secrets"'),
    ],
)
async def test_a_missing_right_is_named_and_waited_for(
    stored: Stored, rules: list[dict[str, list[str]]], there: bool, problem: str, capfd: pytest.CaptureFixture[str]
) -> None:
    cluster, namespace = stored.cluster, stored.namespace
    if there:
        stored.create(issue(["other"], time.time()))
    user = cluster.user("few", namespace, rules)
    async with owner(credentials_of(user.kubeconfig), namespace) as reader:
        if there:
            await reader.next()
        await see_warning(reader, capfd, problem, "a Role in its namespace must allow to get, list")
        cluster.user("all", namespace, [READ, CREATE, UPDATE])
        rest = {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "all"}}
        subject = {"kind": "ServiceAccount", "name": "few", "namespace": namespace}
        bindings = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings"
        cluster.create(bindings, rest | {"metadata": {"name": "late"}, "subjects": [subject]})
        assert (await reader.next()).serial == serial_of(stored.read())


async def test_renewals_in_cert_managers_secret_are_yielded(cluster: Cluster, namespace: str, stored: Stored) -> None:
    old, new = (issue(NAMES, time.time()) for _ in range(2))
    async with (
        replica_with(credentials_of(cluster.kubeconfig)) as replica,
        reading(from_secret(LatestMaterial(NAME), replica.watches, namespace, NAME)) as reader,
    ):
        stored.create(old)
        assert await reader.next() == old
        stored.patch(data=data(new))
        assert await reader.next() == new
