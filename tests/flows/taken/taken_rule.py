"""One rule of a shipped thing is taken away: which, from which account, and what the API server then allows.

A rule is here the smallest that can be taken away by itself: one verb on one resource of one API group, of one name in
one namespace where the rights say so.

    seed = seed_of_run()                            # RIGHTS_SEED repeats one that failed
    part = choose(rules_of(rights), seed, "coredns")
    account = LimitedAccount(cluster, directory, "coredns", rights)
    account.take(part) … account.give_back()
"""

import os
import random
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from hookrunner.manifests.role_objects import Account as Named
from hookrunner.manifests.role_objects import to_line, to_roles, to_rule
from hookrunner.model.rights import AccessRequest, Right, merge
from tests.controlplane.audit import AuditedRequest
from tests.controlplane.cluster import ACCESS_REVIEWS, RIGHTS_LOOKS, OwnCluster
from tests.controlplane.rights import collection_of, log_in
from tests.examples import is_night
from tests.flows.limited_rights import NAMESPACE, account_of, is_rare, split

SEED = "RIGHTS_SEED"


def seed_of_run() -> str:
    """What the choice of this run follows: RIGHTS_SEED, or the date. CI always has the same, as of random examples
    (`tests/conftest.py`), so that its result is that of the commit. At night each rule is taken away."""
    chosen = "CI" if os.environ.get("CI") and not is_night() else datetime.now(UTC).strftime("%Y-%m-%d")
    return os.environ.get(SEED) or chosen


def rules_of(rights: Iterable[Right]) -> list[Right]:
    """All rules that can be taken away, in an order that follows from the rights alone."""
    return sorted((part for right in rights for part in split(right)), key=shown)


def choose(rules: Sequence[Right], seed: str, thing: str) -> Right:
    """One of the rules of a thing that it needs by day, another one with another seed, and a printed line that shows
    how to repeat it."""
    rule = random.Random(f"{seed} {thing}").choice([rule for rule in rules if not is_rare(rule)])
    print(f"{SEED}={seed}: {thing} without {shown(rule)}")
    return rule


def shown(right: Right) -> str:
    """`patch deployments.apps web in shop`, for a person."""
    if right.urls:
        return f"{right.verbs[0]} {right.urls[0]}"
    resources = ", ".join(f"{plural}.{group}".rstrip(".") for group in right.groups for plural in right.resources)
    place = f" in {right.namespace}" if right.namespace else ""
    return " ".join((", ".join(right.verbs), resources, *right.names)) + place


def is_part(right: Right, whole: Right) -> bool:
    """Is this right the whole, or a part of it?"""
    return all(whole.covers(request) for request in requests_of(right))


def requests_of(right: Right) -> Iterable[AccessRequest]:
    """A request that each part of a right allows."""
    for part in split(right):
        if part.urls:
            yield AccessRequest(part.verbs[0], url=part.urls[0])
        else:
            name = part.names[0] if part.names else ""
            yield AccessRequest(part.verbs[0], part.groups[0], part.resources[0], part.namespace, name)


class LimitedAccount:
    """A service account with these rights, of which one rule at a time can be taken away."""

    def __init__(self, cluster: OwnCluster, directory: Path, name: str, rights: Iterable[Right]) -> None:
        self.rules = rules_of(merge(rights))
        self.cluster = cluster
        self._name = f"limited-{name}"  # roles of what it installs have the plain name
        objects = account_of(self._name, merge(rights))
        self._roles = [obj for obj in objects if obj["kind"] in ("Role", "ClusterRole")]
        self._account = log_in(cluster, directory, objects)
        self.kubeconfig = self._account.kubeconfig
        self._taken: Right | None = None

    def take(self, taken: Right) -> None:
        """Take one rule away, and wait until the API server refuses what it allowed."""
        assert self._taken is None
        self._taken = taken
        self._change(taken, False)

    def give_back(self) -> None:
        """Give it back, and wait until the API server allows it."""
        assert self._taken is not None
        taken, self._taken = self._taken, None
        self._change(taken, True)

    def refused(self, since: int) -> list[AuditedRequest]:
        """The requests that a right was missing for, from this size of the audit log on."""
        requests = self.cluster.audit.requests(self._account.namespace, self._account.name, since)
        return [request for request in requests if request.is_refused]

    def allowed(self, since: int) -> set[AccessRequest]:
        """What it has asked for and was allowed."""
        requests = self.cluster.audit.requests(self._account.namespace, self._account.name, since)
        return {request.access for request in requests if not request.is_refused}

    def _change(self, changed: Right, allowed: bool) -> None:
        rights = merge(rule for rule in self.rules if rule != self._taken)
        roles = to_roles(self._name, rights, Named(NAMESPACE, self._name))
        rules = {collection_of(role): role["rules"] for role in roles if "rules" in role}
        (role,) = (role for role in self._roles if role["metadata"].get("namespace", "") == changed.namespace)
        path = f"{collection_of(role)}/{self._name}"
        patch: dict[str, Any] = {"rules": rules.get(collection_of(role), [])}
        assert self.cluster.request("PATCH", path, patch).status == HTTPStatus.OK
        self._wait(changed, allowed)

    def _wait(self, changed: Right, allowed: bool) -> None:
        spec = {"user": f"system:serviceaccount:{NAMESPACE}:{self._name}", **_attributes(changed)}
        for _ in range(RIGHTS_LOOKS):
            if self.cluster.create(ACCESS_REVIEWS, {"spec": spec})["status"]["allowed"] is allowed:
                return
        raise AssertionError(
            f"{self._name} {'lacks' if allowed else 'still has'} {to_line(changed)}: {to_rule(changed)}"
        )


def _attributes(right: Right) -> dict[str, Any]:
    if right.urls:
        return {"nonResourceAttributes": {"path": right.urls[0], "verb": right.verbs[0]}}
    resource, _, subresource = right.resources[0].partition("/")
    what = {"group": right.groups[0], "resource": resource, "subresource": subresource, "verb": right.verbs[0]}
    where = {"namespace": right.namespace, "name": right.names[0] if right.names else ""}
    return {"resourceAttributes": what | where}
