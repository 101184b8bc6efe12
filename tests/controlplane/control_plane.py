"""Starts and stops a control plane: etcd and the API server and, if wanted, what makes Deployments Ready.

etcd and the API server are up in about three seconds. The controllers, the scheduler and kwok are started then, and
only kwok's fake node is waited for: of a Pod that comes to a node just before, kwok may never hear. Everything lives in
one directory and on loopback ports. The watch cache works as in production, but for PodTemplates it is off, so that
there etcd's compaction shows at once (see `Cluster.compact`).
"""

import secrets
import time
from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.controlplane.audit import AuditLog
from tests.controlplane.build import CONTROLLERS, Binaries, say
from tests.controlplane.cache import BedUnavailable
from tests.controlplane.certs import make_server_certificate, make_signing_key
from tests.controlplane.kubeconfig import Access, Insides, write_kubeconfig
from tests.controlplane.processes import Processes, free_port
from tests.controlplane.rest import request

START_TIMEOUT = 120.0
SIGNS = ("/readyz", "/api/v1/namespaces/default/services/kubernetes")
"""What a ready API server has. The Service and its namespace are made by controllers that /readyz does not wait for."""
HELD = ("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/fake",)
"""What there is when kwok holds the node."""
ISSUER = "https://kubernetes.default.svc"
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "fake", "labels": {"kubernetes.io/hostname": "fake", "kubernetes.io/os": "linux"}},
    "status": {"allocatable": {"cpu": "1k", "memory": "1Ti", "pods": "1M"}},
}


MANAGER = "system:kube-controller-manager"
"""Its name on every cluster, by which admission policies know it."""


class ControlPlane:
    """A context manager that runs the programs; `kubeconfig` is there, and the API server ready, once it is entered.

    With `audited` the API server keeps the log that `audit` reads. Entering raises `BedUnavailable` with the last lines
    of the log when a program ends or two minutes pass.
    """

    def __init__(self, binaries: Binaries, directory: Path, *, controllers: bool, audited: bool = False) -> None:
        self._binaries = binaries
        self._directory = directory
        self._controllers = controllers
        self.audit = AuditLog(directory)
        self._audited = audited
        self._processes = Processes(directory)
        self._port = free_port()
        self._certificate = make_server_certificate(directory, "apiserver")
        signing_key = directory / "service-accounts.key"
        make_signing_key(signing_key)
        self._insides = Insides(f"http://127.0.0.1:{free_port()}", str(signing_key))
        self._access = Access(
            f"https://127.0.0.1:{self._port}", self._certificate.certificate, secrets.token_hex(16), self._insides
        )
        self.kubeconfig = write_kubeconfig(directory / "kubeconfig", self._access)
        manager = replace(self._access, token=secrets.token_hex(16), insides=None)
        self._manager = write_kubeconfig(directory / "kube-controller-manager.kubeconfig", manager)
        users = {self._access.token: "admin", manager.token: MANAGER}
        tokens = directory / "tokens.csv"
        tokens.write_text("".join(f"{token},{user},{user},system:masters\n" for token, user in users.items()))

    def __enter__(self) -> Self:
        try:
            self._start_etcd()
            self.start_apiserver()
            if self._controllers:
                self._start_controllers()
        except BaseException:
            self._processes.stop_all()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._processes.stop_all()

    def start_apiserver(self) -> None:
        """Start the API server, at first or again, on the same port, and wait until it is ready."""
        certificate, key = self._certificate.certificate, self._insides.signing_key
        self._start(
            "kube-apiserver",
            f"--etcd-servers={self._insides.etcd_url}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port}",
            f"--cert-dir={self._directory}",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={self._certificate.key}",
            f"--token-auth-file={self._directory / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            f"--service-account-issuer={ISSUER}",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--endpoint-reconciler-type=none",
            # Pods need no service account's token here: their containers are never run.
            "--disable-admission-plugins=ServiceAccount",
            "--watch-cache-sizes=podtemplates#0",
            "--allow-privileged=true",
            *(self.audit.flags() if self._audited else ()),
        )
        self._wait_for("kube-apiserver", SIGNS)

    def stop_apiserver(self) -> None:
        """Kill the API server as a power cut would; its port refuses connections until it is started again."""
        self._processes.stop("kube-apiserver")

    def check(self) -> None:
        """Raise `BedUnavailable` with its last words if a program has ended by itself."""
        for name in self._processes.ended():
            raise BedUnavailable(f"{name} ended by itself; its log ends:\n{self._processes.last_words(name)}")

    def pids(self) -> list[int]:
        """Return the process ids of the running programs."""
        return self._processes.pids()

    def _start_etcd(self) -> None:
        client, peer = self._insides.etcd_url, f"http://127.0.0.1:{free_port()}"
        self._start(
            "etcd",
            f"--data-dir={self._directory / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=error",
        )

    def _start_controllers(self) -> None:
        if lacking := self._binaries.lacking(CONTROLLERS):
            say(f"no {', '.join(lacking)} in {self._binaries.directory}: Deployments will not become Ready")
            return
        access = ["--leader-elect=false", "--secure-port=0"]
        # The root CA's ConfigMap would turn up in each test's namespace at some time or other.
        publisher = "-root-ca-certificate-publisher-controller"
        manager = f"--kubeconfig={self._manager}"
        self._start("kube-controller-manager", manager, *access, f"--controllers=*,{publisher}")
        self._start("kube-scheduler", f"--kubeconfig={self.kubeconfig}", *access)
        stages = [f"--config={stage}" for stage in self._binaries.stages()]
        lease = "--node-lease-duration-seconds=40"
        self._start("kwok", f"--kubeconfig={self.kubeconfig}", "--manage-all-nodes=true", lease, *stages)
        request(self._access, "POST", "/api/v1/nodes", NODE)
        self._wait_for("kwok", HELD)

    def _start(self, name: str, *flags: str) -> None:
        self._processes.start(name, [*self._binaries.command(name), *flags])

    def _wait_for(self, program: str, signs: Sequence[str]) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while not all(map(self._answers, signs)):
            self.check()
            if time.monotonic() > deadline:
                words = self._processes.last_words(program)
                raise BedUnavailable(f"{program} was not ready after {START_TIMEOUT:.0f} s; its log ends:\n{words}")
            time.sleep(0.05)  # readiness can only be asked for again and again

    def _answers(self, path: str) -> bool:
        try:
            return request(self._access, "GET", path).status == HTTPStatus.OK
        except OSError:
            return False
