"""A case of admission: webhook configurations that see nothing but what belongs to the case.

They are scoped to the case's namespace by its name and to the case's objects by a label, so that neither other cases
nor a configuration that the real API server has not yet forgotten can be in the way.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.kubesandbox.contract.api import Api, Reply, until
from tests.kubesandbox.contract.objects import at, config_map
from tests.kubesandbox.contract.webhook import Asked, Decides, Raw, Webhook, allowed

JSON = dict[str, Any]
Kind = Literal["Mutating", "Validating"]

HOOK = "hook.example.com"
CONFIG_MAPS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}


@dataclass(slots=True)
class Case:
    """One case on one server. Its configurations go when it is over."""

    api: Api
    ns: str
    name: str
    webhook: Webhook
    made: list[str] = field(default_factory=list)

    def register(self, kind: Kind, *hooks: JSON, name: str = "") -> str:
        """Make a configuration and wait until the server acts on it; its path."""
        name = name or f"{self.name}-{secrets.token_hex(3)}"
        plural = f"{kind.lower()}webhookconfigurations"
        canary = {"canary": name}
        first = self.hook(f"/canary/{name}", name="canary.example.com", objectSelector={"matchLabels": canary})
        self.api.post(at(plural), {"metadata": {"name": name}, "webhooks": [first, *hooks]})
        self.made.append(at(plural, name=name))
        bird = config_map(name, labels=canary)
        self._until_asked(f"/canary/{name}", lambda: self.send("POST", "configmaps?dryRun=All", bird))
        return at(plural, name=name)

    def register_rows(self, rows: Iterable[JSON]) -> None:
        """One validating webhook for each row, whose entry the row changes. It is asked at the row's number."""
        hooks = (self.hook(self.path(str(at)), name=f"row{at}.example.com", **row) for at, row in enumerate(rows))
        self.register("Validating", *hooks)

    def asked_rows(self, rows: Sequence[JSON]) -> list[JSON]:
        """Those of the rows whose webhooks were asked, each once."""
        return [rows[at] for at in sorted(map(int, self.order()))]

    def hook(self, path: str = "", **changed: Any) -> JSON:
        """An entry of a configuration, for the case's ConfigMaps, answered at a path of the case."""
        mine = {"matchLabels": {"kubernetes.io/metadata.name": self.ns}}
        return {
            "name": HOOK,
            "clientConfig": self.webhook.client(path or self.path()),
            "rules": [CONFIG_MAPS],
            "namespaceSelector": mine,
            "objectSelector": {"matchLabels": {"case": self.name}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 10,
        } | changed

    def path(self, which: str = "hook") -> str:
        """A path of the case's own on the webhook."""
        return f"/{self.api.name}/{self.name}/{which}"

    def answers(self, answer: Decides | Raw, which: str = "hook") -> None:
        """What the webhook says from now on."""
        self.webhook.answers[self.path(which)] = answer

    def asked(self, which: str = "hook") -> list[JSON]:
        """What it was asked: the requests of the reviews."""
        return self.webhook.at(self.path(which))

    def order(self) -> list[str]:
        """The last parts of the paths at which it was asked for this case, in order."""
        mine = f"/{self.api.name}/{self.name}/"
        return [path.removeprefix(mine) for path in map(_path, self.webhook.asked) if path.startswith(mine)]

    def map(self, name: str = "", **data: str) -> JSON:
        """A ConfigMap that belongs to the case."""
        return config_map(name or self.name, data, labels={"case": self.name})

    def create(self, obj: JSON | None = None, query: str = "") -> Reply:
        """Create a ConfigMap, of the case's name unless it is given."""
        return self.send("POST", f"configmaps{query}", obj or self.map())

    def send(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Reply:
        """A request below the core kinds of the case's namespace."""
        return self.api.request(method, f"/api/v1/namespaces/{self.ns}/{path}", body, content_type=content_type)

    def _until_asked(self, path: str, send: Callable[[], object]) -> None:
        until(lambda: send() and self.webhook.at(path), path)
        self.webhook.asked[:] = [one for one in self.webhook.asked if _path(one) != path]


def _path(one: Asked) -> str:
    return one.path.partition("?")[0]


@contextmanager
def opened(api: Api, ns: str, name: str, webhook: Webhook) -> Iterator[Case]:
    """A case, and the end of it."""
    case = Case(api, ns, name, webhook)
    case.answers(allowed())
    try:
        yield case
    finally:
        for path in case.made:
            api.request("DELETE", path)
