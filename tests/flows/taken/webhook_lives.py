"""What each shipped webhook is asked in its life: it answers, is registered for another host, and is removed."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from tests.controlplane.cluster import OwnCluster
from tests.fakes.chart import ROOT
from tests.flows.operator import Operator
from tests.flows.taken.life import Step, start
from tests.flows.taken.release_lives import read
from tests.flows.webhooks import Site

WEBHOOKS = ROOT / "webhooks"
LABELS = {"hookrunner.io/image-policy": "enforce", "hookrunner.io/pod-defaults": "yes", "team": "tea"}
PODS = "/api/v1/namespaces/default/pods?dryRun=All"
GROUP = "/apis/stable.hookrunner.io"
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crontabs.stable.hookrunner.io"
CERTIFICATE = "/api/v1/namespaces/default/secrets/hookrunner-webhook-certs"
CONFIGURATIONS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
CRONTAB = {
    "apiVersion": "stable.hookrunner.io/v1alpha1",
    "kind": "CronTab",
    "metadata": {"name": "backup"},
    "spec": {"cronSpec": "0 3 * * *", "hostPort": "db:5432"},
}
LEFTOVERS = {
    "image-policy.sh": ("list mutatingwebhookconfigurations",),
    "pod-defaults.py": ("list validatingwebhookconfigurations",),
    "crontab-versions.py": ("list validatingwebhookconfigurations", "list mutatingwebhookconfigurations"),
}
"""What a hook of another kind may have left registered; without the right to look, nothing was."""
NAMES = ("image-policy.sh", "pod-defaults.py", "crontab-versions.py")


def prepare(cluster: OwnCluster) -> None:
    """The namespace has the labels that the hooks ask for, and the kind is defined."""
    cluster.kubectl("apply", "-f", str(WEBHOOKS / "crontab-versions.yaml"))
    reply = cluster.request("PATCH", "/api/v1/namespaces/default", {"metadata": {"labels": LABELS}})
    assert reply.status == HTTPStatus.OK, reply.body


class WebhookWorld:
    """One webhook that the API server asks."""

    def __init__(self, site: Site, operator: Operator, hook: str) -> None:
        self.site, self.operator, self.hook = site, operator, hook
        self.cluster = site.cluster

    def steps(self) -> Iterator[Step]:
        """A whole life. The namespace has the labels, and the kind is defined."""
        for host in ("127.0.0.1", "localhost"):
            step = self.start(host)
            yield step._replace(what="the start" if host == "127.0.0.1" else "another host")
        yield Step("the removal", self._remove, lambda: not self.registered())

    def start(self, host: str) -> Step:
        """The program starts, or starts again, and is asked at this host."""

        def ask() -> None:
            self.operator.kill()
            if not self.registered():
                self.cluster.request("DELETE", CERTIFICATE)
            self.operator.write_hooks({self.hook: (WEBHOOKS / self.hook).read_text()})
            self.operator.flags = tuple(flag.replace("://127.0.0.1:", f"://{host}:") for flag in self.site.flags)
            self.operator.start()

        started = start(self.operator)
        return started._replace(ask=ask, is_done=lambda: started.is_done() and self.answers(host))

    def answers(self, host: str) -> bool:
        """Is the hook asked at this host, with a sensible answer?"""
        hosts = [client.get("url", "") for client in self.registered()]
        return bool(hosts) and all(f"https://{host}:" in url for url in hosts) and self._is_asked()

    def registered(self) -> list[Any]:
        """What the API server knows of the clients to ask."""
        paths = [f"/apis/admissionregistration.k8s.io/v1/{kind}/{self.site.name}" for kind in CONFIGURATIONS]
        found = [read(self.cluster, path) for path in paths]
        clients = [webhook["clientConfig"] for obj in found if obj for webhook in obj.get("webhooks") or ()]
        conversion = read(self.cluster, DEFINITION)["spec"]["conversion"].get("webhook")
        return [*clients, *([conversion["clientConfig"]] if conversion else [])]

    def _is_asked(self) -> bool:
        if self.hook == "crontab-versions.py":
            self.cluster.request("POST", f"{GROUP}/v1alpha1/namespaces/default/crontabs", CRONTAB)
            shown = read(self.cluster, f"{GROUP}/v1/namespaces/default/crontabs/backup")
            return bool(shown.get("spec", {}).get("address") == {"host": "db", "port": 5432})
        image = "nginx" if self.hook == "image-policy.sh" else "nginx:1.27"
        pod = {"metadata": {"name": "probe"}, "spec": {"containers": [{"name": "a", "image": image}]}}
        answer = self.cluster.request("POST", PODS, pod).body
        if self.hook == "image-policy.sh":
            return "denied the request" in answer.get("message", "")
        return bool(answer["metadata"].get("labels", {}).get("team") == "tea")

    def _remove(self) -> None:
        self.operator.kill()
        (self.operator.directory / "hooks" / self.hook).unlink()
        self.operator.start()
