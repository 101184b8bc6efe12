"""The gate that a request over HTTP has to pass: its user, its verb and its options."""

from collections.abc import Mapping

from multidict import CIMultiDictProxy

from kubesandbox.builtin.strategy import ADMISSION
from kubesandbox.http.api_request import ApiRequest
from kubesandbox.kinds import Kinds
from kubesandbox.query.requests import DeleteParameters
from kubesandbox.store import Store
from kubesandbox.verbs.gate import OPEN, AdmissionGate
from kubesandbox.verbs.rules import Object
from kubesandbox.webhooks.admission import Around, RequestAdmission
from kubesandbox.webhooks.configurations import WebhookConfigurations
from kubesandbox.webhooks.conversion import WebhookConverter
from kubesandbox.webhooks.matching import Attempt
from kubesandbox.webhooks.webhook_client import WebhookClient

USER, GROUPS = "kubernetes-admin", ("system:masters", "system:authenticated")
"""The user of every request, since nothing is authenticated; `kubectl --as` and `--as-group` give other names."""
EXTRA = "impersonate-extra-"


class Gates:
    """Makes the gate of each request. One for a sandbox."""

    def __init__(self, store: Store, kinds: Kinds) -> None:
        self._asking = WebhookClient(store)
        self.converter = WebhookConverter(self._asking)
        self._around = Around(store, kinds, WebhookConfigurations(store), self._asking, self.converter)

    async def close(self) -> None:
        """Hang up."""
        await self._asking.close()

    def gate(self, asked: ApiRequest, options: Object) -> AdmissionGate:
        """`options` are those of the request, as reviews show them. Without any webhook the gate is open."""
        # No webhook is asked about registrations and policies: it could lock itself out.
        if asked.kind.stored in ADMISSION or not self._around.configured.there():
            return OPEN
        dry_run = bool(options.get("dryRun"))
        attempt = Attempt(asked.kind, asked.where, options, user(asked.http.headers), dry_run)
        return RequestAdmission(attempt, self._around, asked.warnings)


def user(headers: CIMultiDictProxy[str]) -> Object:
    """Who asks, as reviews show it."""
    name = headers.get("Impersonate-User", "")
    if not name:
        return {"username": USER, "groups": list(GROUPS)}
    extra: dict[str, list[str]] = {}
    for key, value in headers.items():
        if key.lower().startswith(EXTRA):
            extra.setdefault(key[len(EXTRA) :].lower(), []).append(value)
    groups = [*headers.getall("Impersonate-Group", []), "system:authenticated"]
    uid = headers.get("Impersonate-Uid", "")
    said = {"username": name, "uid": uid, "groups": list(dict.fromkeys(groups)), "extra": extra}
    return {key: value for key, value in said.items() if value}


def of_write(query: Mapping[str, str]) -> Object:
    """The options of a create, an update or a patch."""
    said: Object = {"dryRun": ["All"]} if query.get("dryRun") == "All" else {}
    return said | {key: query[key] for key in ("fieldManager", "fieldValidation") if query.get(key)}


def of_deletion(options: DeleteParameters) -> Object:
    """The options of a deletion."""
    conditions = {"uid": options.uid, "resourceVersion": options.version}
    said = {
        "gracePeriodSeconds": options.grace,
        "preconditions": {key: value for key, value in conditions.items() if value} or None,
        "propagationPolicy": options.propagation or None,
        "dryRun": ["All"] if options.dry_run else None,
    }
    return {key: value for key, value in said.items() if value is not None}
