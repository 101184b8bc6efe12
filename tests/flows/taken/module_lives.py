"""What each shipped module is asked to do in its life: turned on, changed, tampered with, turned off."""

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from tests.controlplane.cluster import OwnCluster
from tests.fakes.chart import ROOT
from tests.flows.addons.cluster_world import MARKED
from tests.flows.limited_rights import NAMESPACE
from tests.flows.operator import Operator
from tests.flows.taken.life import Step, start
from tests.flows.taken.release_lives import ReleaseObjects, read, read_records
from tests.flows.taken.taken_rule import LimitedAccount

MODULES = ROOT / "modules"
CONFIG = f"/api/v1/namespaces/{NAMESPACE}/configmaps"


@dataclass(frozen=True, slots=True)
class ModuleFacts:
    """A module by its directory, and its key; its section at first, and after the change."""

    directory: str
    key: str
    section: str
    changed: str


FACTS = {"hello-world": ModuleFacts("100-hello-world", "helloWorld", "greeting: Hello", "greeting: Good day")}
PLURALS = (*(plural for plural in MARKED if plural != "apiservices"), "namespaces")


class ModuleWorld:
    """One module in a cluster, with the ConfigMap that users edit."""

    def __init__(self, cluster: OwnCluster, operator: Operator, account: LimitedAccount, facts: ModuleFacts) -> None:
        self.cluster, self.operator, self.account, self.facts = cluster, operator, account, facts
        self.thing, self.state, self.surveyed = facts.directory.partition("-")[2], "stopped", ""
        self.objects = ReleaseObjects(cluster, self.thing, PLURALS, has_label=False)
        self._revision = 0

    def steps(self) -> Iterator[Step]:
        """A whole life, from the start of the program to the end of the release."""
        yield self.start()
        yield self.install()
        yield self.change()
        yield self.objects.tamper()
        yield self.delete()

    def start(self) -> Step:
        """The program starts, with the module off."""

        def ask() -> None:
            self.cluster.request("DELETE", f"{CONFIG}/hookrunner")
            data = {f"{self.facts.key}Enabled": "false", self.facts.key: self.facts.section}
            self.cluster.create(CONFIG, {"metadata": {"name": "hookrunner"}, "data": data})
            self.operator.start()

        return start(self.operator)._replace(ask=ask)

    def install(self) -> Step:
        """The module is turned on."""

        def ask() -> None:
            self._revision = 1
            self._configure({f"{self.facts.key}Enabled": "true", self.facts.key: self.facts.section})

        return Step("the installation", ask, self.is_deployed)

    def change(self) -> Step:
        """Its section is changed; when it is already, back again."""

        def ask() -> None:
            self._revision = self.revision() + 1
            section = read(self.cluster, f"{CONFIG}/hookrunner")["data"][self.facts.key]
            changed = self.facts.section if section == self.facts.changed else self.facts.changed
            self._configure({self.facts.key: changed})

        return Step("the change", ask, self.is_deployed)

    def delete(self) -> Step:
        """The module is turned off."""
        return Step(
            "the deletion",
            lambda: self._configure({f"{self.facts.key}Enabled": "false"}),
            lambda: not read_records(self.cluster, self.thing),
        )

    def forget(self) -> None:
        """Kinds that modules bring stay."""

    def revision(self) -> int:
        """The last one that is deployed, 0 without one."""
        labels = [item["metadata"]["labels"] for item in read_records(self.cluster, self.thing)]
        return max((int(one["version"]) for one in labels if one["status"] == "deployed"), default=0)

    def is_deployed(self) -> bool:
        """Is the desired revision the one that is deployed, the module ready, and nothing under way?"""
        is_ready = self.revision() >= self._revision and self.operator.readyz().ready
        return is_ready and not any(self.operator.queue_list().values())

    def _configure(self, data: Any) -> None:
        reply = self.cluster.request("PATCH", f"{CONFIG}/hookrunner", {"data": data})
        assert reply.status == HTTPStatus.OK, reply.body
