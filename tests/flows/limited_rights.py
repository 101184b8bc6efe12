"""A life under exactly the rights that the chart or `hookrunner rbac` gives, and what the audit log shows of it then:
no request was refused, and no right was needless.

A right of which no request shows that it is needed has a reason in `REASONS`, or in the life's own.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import Any

from hookrunner import settings
from hookrunner.cli.shared import quiet
from hookrunner.manifests.role_objects import Account as Named
from hookrunner.manifests.role_objects import to_line, to_roles
from hookrunner.model.rights import Right, compact
from hookrunner.modules.offline import Configured
from hookrunner.rights.needed_rights import NeededRights, find_needed_rights, read_files
from hookrunner.rights.release_rights import APPLIED, DELAYED
from hookrunner.testing.addons.addon_bench import offline_source
from hookrunner.values.config_sections import parse
from tests.controlplane.audit import AuditedRequest
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.rights import Account

NAMESPACE = "default"

TRIED = {
    "list secrets": "releases in namespaces that no module.yaml names any more (docs/operations.md)",
    "list configmaps": "the same, with --helm-driver=configmap",
    "list configmaps default": "records of releases that another --helm-driver has kept",
    "get configmaps default/addon-operator": "a ConfigMap of addon-operator that nothing reads, for a warning",
    "list mutatingwebhookconfigurations.admissionregistration.k8s.io": "registrations that an earlier start left",
    "list validatingwebhookconfigurations.admissionregistration.k8s.io": "the same",
    "get mutatingwebhookconfigurations.admissionregistration.k8s.io": "the same, without the right to list",
    "get validatingwebhookconfigurations.admissionregistration.k8s.io": "the same, without the right to list",
    "list customresourcedefinitions.apiextensions.k8s.io": "the same, of conversions",
}
"""What hookrunner asks for although it does without: requests, all those that begin so with a name."""

REASONS = {
    "grants it, and no client may grant what it lacks": "RBAC asks for it when the role is written",
    "binds a role that is not its own": "RBAC asks for it when the binding is written",
    APPLIED: "RBAC asks for it when an apply finds no object; the request that is logged is a patch",
    DELAYED: "nothing that is shipped has a Helm hook with a finalizer",
    "owner references of what they install": "the admission plugin OwnerReferencesPermissionEnforcement asks for it",
}
"""Needs that no request shows, and who asks for them."""

RARE = {
    "list": "where the API server cannot send a list as a watch, and when a watch has expired",
    "patch events": "an Event that is repeated is patched after a minute",
    "get customresourcedefinitions": "a definition that an earlier version of hookrunner has created",
    "update customresourcedefinitions": "the same",
    "update customresourcedefinitions/status": "the same, when a version of it is removed",
    "get secrets (of core, in default)": "records, which are read when hookrunner starts again",
    "create configmaps (of core, in default)": "values that hooks keep",
    "patch configmaps hookrunner": "values that hooks keep",
    "watch clusters": "no cluster of the tests serves the kind of Cluster API",
    **{
        f"{verb} validatingadmissionpol{end}": "an instance with spec.protect, of which test_protection.py is"
        for verb in ("watch", "create", "update", "delete")
        for end in ("icies", "icybindings")
    },
}
"""What no life is long enough to need: a verb, or with a resource, or with a name too."""


def find_rights(configured: Mapping[str, str] = MappingProxyType({}), /, **flags: str) -> NeededRights:
    """What `hookrunner rbac` finds with these flags, `_` for `-`; `configured` is the data of the ConfigMap."""
    named = {name.replace("_", "-"): text for name, text in flags.items()}
    loaded = settings.load({"modules-dir": ":", "hooks-dir": ":", **named}, "hookrunner", {})
    with quiet():
        given = Configured(parse(configured))
        files = read_files(loaded, given, partial(offline_source, loaded.addons))
        return asyncio.run(find_needed_rights(files, NAMESPACE))


def account_of(name: str, rights: Iterable[Right]) -> list[Any]:
    """The ServiceAccount with these rights, as `hookrunner rbac` prints them."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}}
    return [account, *to_roles(name, compact(rights), Named(NAMESPACE, name))]


def check_rights(
    cluster: OwnCluster,
    account: Account,
    rights: Iterable[Right],
    reasons: Mapping[str, str] = MappingProxyType({}),
    surveyed: str = "",
) -> None:
    """Assert that none of the account's requests was refused, and each of its rights was needed. `reasons` are those
    of this life: the beginning of a line as `_shown` writes it, and why no request shows the need. `surveyed` is a
    namespace that the release creates: whether others use it is asked of every kind, and without an answer it stays."""
    requests = cluster.audit.requests(account.namespace, account.name)
    refused = sorted({str(request) for request in requests if request.is_refused and not is_tried(request, surveyed)})
    assert refused == [], f"refused: {refused}"
    allowed = {request.access for request in requests if not request.is_refused}
    idle = [right for whole in rights for right in split(whole) if not any(map(right.covers, allowed))]
    needless = [_shown(right) for right in idle if not _is_explained(right, {**RARE, **reasons})]
    assert needless == [], f"no request needed {needless}"


def split(right: Right) -> Iterator[Right]:
    """Its parts: each verb on each resource, of each name."""
    for url, verb in product(right.urls, right.verbs):
        yield Right((), (), (verb,), urls=(url,), needs=right.needs)
    for group, resource, name, verb in product(right.groups, right.resources, right.names or ("",), right.verbs):
        yield Right((group,), (resource,), (verb,), (name,) if name else (), right.namespace, needs=right.needs)


def is_tried(request: AuditedRequest, surveyed: str = "") -> bool:
    """Does hookrunner ask for this although it does without? In `surveyed`, every list."""
    line, access = str(request), request.access
    if surveyed and (access.verb, access.namespace) == ("list", surveyed):
        return True
    return line in TRIED or any(line.startswith(f"{words} ") for words in TRIED if "configurations." in words)


def is_rare(right: Right, rare: Mapping[str, str] = RARE) -> bool:
    """Is no life long enough to need this part of a right?"""
    line = _shown(right)
    return any(line == words or line.startswith(f"{words} ") for words in rare)


def _is_explained(right: Right, rare: Mapping[str, str]) -> bool:
    if is_rare(right, rare):
        return True
    return any(need.why.endswith(why) for need in right.needs for why in REASONS)


def _shown(right: Right) -> str:
    """`patch deployments web`, with the group and namespace behind it."""
    if right.urls:
        return to_line(right)
    words = (*right.verbs, *right.resources, *right.names)
    return f"{' '.join(words)} (of {right.groups[0] or 'core'}, in {right.namespace or 'all namespaces'})"
