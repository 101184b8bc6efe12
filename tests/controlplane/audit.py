"""The audit log of a control plane: what service accounts have asked the API server for, and what was refused.

    with ControlPlane(find_binaries(), directory, controllers=True, audited=True) as plane:
        cluster = OwnCluster(plane, directory)
        ...
        requests = cluster.audit.requests("kube-system", "hookrunner")

Only requests of service accounts are logged; the admin's and those of the control plane's own programs are not. The API
server writes each line before it answers (mode `blocking`), so that whatever has an answer is in the file.
Source: https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/
"""

import json
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from hookrunner.model.rights import AccessRequest

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}],
}
"""A watch is logged when it starts, and again when it ends."""
_ESCALATION = "is attempting to grant RBAC permissions not currently held"
"""The API server's words for a role that grants more than its author has; RBAC has allowed the request itself."""


class AuditedRequest(NamedTuple):
    """What one request asked for, and whether a right was missing."""

    access: AccessRequest
    is_refused: bool

    def __str__(self) -> str:
        verb, group, resource, namespace, name, url = self.access
        place = "/".join(filter(None, (namespace, name)))
        return " ".join(filter(None, (verb, f"{resource}.{group}" if group else resource or url, place)))


class AuditLog:
    """The file of one control plane."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "audit.log"
        self._policy = directory / "audit-policy.yaml"

    def flags(self) -> tuple[str, ...]:
        """Write the policy; the API server's flags."""
        self._policy.write_text(yaml.safe_dump(POLICY))
        return (
            f"--audit-policy-file={self._policy}",
            f"--audit-log-path={self._file}",
            "--audit-log-mode=blocking",
        )

    def size(self) -> int:
        """How long the log is now, for a look at what comes later."""
        return self._file.stat().st_size if self._file.exists() else 0

    def requests(self, namespace: str, account: str, since: int = 0) -> list[AuditedRequest]:
        """What a service account has asked for, in the order of the answers, from this size of the log on."""
        user = f"system:serviceaccount:{namespace}:{account}"
        return [_request(event) for event in self._events(since) if event["user"]["username"] == user]

    def _events(self, since: int) -> Iterator[Any]:
        if not self._file.exists():
            return
        with self._file.open("rb") as file:
            file.seek(since)
            for line in file:
                if line.endswith(b"\n"):  # the last one may be unfinished: a request without an answer
                    yield json.loads(line)


def _request(event: dict[str, Any]) -> AuditedRequest:
    ref = event.get("objectRef", {})
    resource = "/".join(filter(None, (ref.get("resource", ""), ref.get("subresource", ""))))
    url = "" if resource else event["requestURI"].partition("?")[0]
    where = (ref.get("namespace", ""), ref.get("name", ""))
    return AuditedRequest(
        AccessRequest(event["verb"], ref.get("apiGroup", ""), resource, *where, url), _is_refused(event)
    )


def _is_refused(event: dict[str, Any]) -> bool:
    """Was a right missing? Admission and quotas answer with 403 too, after RBAC has allowed the request."""
    status = event.get("responseStatus", {})
    if event.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid":
        return True
    return status.get("code") == HTTPStatus.FORBIDDEN and _ESCALATION in status.get("message", "")
