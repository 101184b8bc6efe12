"""What each shipped addon is asked to do in its life: installed, changed, tampered with, upgraded, deleted."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import yaml

from hookrunner.model.rights import Right
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.rights import rights_in
from tests.fakes.chart import render_rights
from tests.flows.addons.cluster_world import ADDONS, GROUP, MARKED
from tests.flows.addons.test_addon_lives import DNS_SERVICE
from tests.flows.addons.test_addon_lives import Life as AddonFacts
from tests.flows.limited_rights import NAMESPACE
from tests.flows.operator import Operator
from tests.flows.taken.life import Step, start
from tests.flows.taken.release_lives import ReleaseObjects, read, read_records
from tests.flows.taken.taken_rule import LimitedAccount

SERVICES = "/api/v1/namespaces/kube-system/services"
SETTLED = ("InProgress", "Current")
"""Without controllers nothing becomes healthy."""


def addon_rights(addon: str) -> tuple[Right, ...]:
    """What the chart grants for this addon, which test_addon_rights.py compares with `hookrunner rbac`."""
    return (*rights_in(render_rights("limited", "--set", f"addons.enabled=true,addons.names={{{addon}}}")),)


def addon_flags(addon: str) -> tuple[str, ...]:
    """Of a program that offers this addon alone."""
    return (f"--addons-dir={ADDONS}", f"--addons={addon}", f"--namespace={NAMESPACE}", "--modules-dir=:")


class AddonWorld:
    """One addon in a cluster, with an instance that users change."""

    def __init__(self, cluster: OwnCluster, operator: Operator, account: LimitedAccount, facts: AddonFacts) -> None:
        self.cluster, self.operator, self.account, self.facts = cluster, operator, account, facts
        self.thing, self.state, self.surveyed = facts.addon, "stopped", facts.surveyed
        self._release = f"{facts.addon}.kube-system.default"
        self.objects = ReleaseObjects(cluster, self._release, MARKED)
        self.collection = f"{GROUP}/{facts.plural}"
        self.path = f"{self.collection}/default"
        self._needs_dns = facts.addon == "nodelocaldns"
        self._generation = 0

    def steps(self) -> Iterator[Step]:
        """A whole life, from the start of the program to the end of the instance."""
        yield self.start()
        yield self.install()
        yield self.change()
        yield self.objects.tamper()
        yield self.upgrade()
        yield self.delete()

    def start(self) -> Step:
        """The program starts, and the kind is served."""
        step = start(self.operator)

        def is_done() -> bool:
            return step.is_done() and bool(read(self.cluster, self.collection))

        return step._replace(is_done=is_done)

    def install(self) -> Step:
        """The example, with the spec of the addon's facts."""

        def ask() -> None:
            if self._needs_dns:
                self.cluster.request("POST", SERVICES, yaml.safe_load(DNS_SERVICE))
            example = yaml.safe_load((ADDONS / self.facts.addon / "example.yaml").read_text())
            created = self.cluster.create(self.collection, example | {"spec": self.facts.spec})
            self._generation = created["metadata"]["generation"]

        return Step("the installation", ask, self.is_settled)

    def change(self) -> Step:
        """The spec is changed; when it is already, back again."""

        def ask() -> None:
            spec = read(self.cluster, self.path)["spec"]
            is_changed = all(spec.get(key) == value for key, value in self.facts.change.items())
            self._patch(
                {key: self.facts.spec.get(key) for key in self.facts.change} if is_changed else self.facts.change
            )

        return Step("the change", ask, self.is_settled)

    def upgrade(self) -> Step:
        """To the later version; when that is installed, back again."""

        def ask() -> None:
            _, after = self.facts.versions
            self._patch({"version": None if self.status().get("version") == after else after})

        def is_done() -> bool:
            before, _ = self.facts.versions
            wanted = read(self.cluster, self.path)["spec"].get("version") or before
            return self.is_settled() and self.status().get("version") == wanted

        return Step("the upgrade", ask, is_done)

    def delete(self) -> Step:
        """The instance is deleted, and all that it has installed."""

        def ask() -> None:
            self.cluster.request("DELETE", self.path)
            if self._needs_dns:
                self.cluster.request("DELETE", f"{SERVICES}/kube-dns")

        def is_done() -> bool:
            objects = (
                read(self.cluster, self.path) or self.objects.read_all() or read_records(self.cluster, self._release)
            )
            return not objects

        return Step("the deletion", ask, is_done)

    def is_settled(self) -> bool:
        """Is what the spec asks for applied?"""
        status = self.status()
        return status.get("observedGeneration", 0) >= self._generation and status.get("phase") in SETTLED

    def status(self) -> Any:
        """Of the instance, empty without one."""
        return read(self.cluster, self.path).get("status") or {}

    def forget(self) -> None:
        """Delete the kind, so that the next start creates it."""
        name = f"{self.facts.plural}.addons.x-k8s.io"
        self.cluster.request("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")

    def _patch(self, spec: Any) -> None:
        reply = self.cluster.request("PATCH", self.path, {"spec": spec})
        assert reply.status == HTTPStatus.OK, reply.body
        self._generation = reply.body["metadata"]["generation"]
