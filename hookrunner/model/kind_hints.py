"""Hints for a kind that is not served: a removed version, a wrong group, another spelling.

Pure: the same for a cluster and for the kinds that are known without one.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from hookrunner.model.resources import Resource

_MOST = 3
"""Versions that are named of one kind."""
_CLOSE = 0.85
"""`Deploymnt` is close to `Deployment`; the `Config` of kubectl is not close to `ConfigMap`."""


def named(resources: Iterable[Resource], kind: str) -> list[Resource]:
    """Those with verbs whose kind, plural or short name is `kind` in any case."""
    wanted = kind.lower()
    return [one for one in resources if one.verbs and wanted in map(str.lower, _names(one))]


def hint(api_version: str, kind: str, served: Sequence[Resource]) -> str:
    """What to write instead, such as `DaemonSet is served as apps/v1`; empty if that cannot be said.

    That another group has a kind of this name says something only where the group is one of Kubernetes' own, or is
    served: `Service` in `serving.knative.dev/v1` is not the Service of the core, but a definition that is missing.
    """
    group = api_version.rpartition("/")[0]
    found = named(served, kind)
    if here := [one for one in found if one.api_version == api_version]:
        return f"write kind: {here[0].kind}"
    if same := [one for one in found if one.group == group]:
        return _served_as(same)
    if api_version and not is_known(group, served):
        return ""
    return _served_as(found) if found else _near(api_version, kind, served)


def other(api_version: str, kind: str, served: Sequence[Resource]) -> str:
    """That another group has a kind of this name, where `hint` does not know whether it is meant."""
    found = named(served, kind)
    return _served_as(found) if found and api_version else ""


def is_known(group: str, served: Iterable[Resource]) -> bool:
    """Is this a group of Kubernetes itself, as `extensions` was, or one that is served?"""
    return is_kubernetes_only(group) or any(one.group == group for one in served)


def is_kubernetes_only(group: str) -> bool:
    """Can no CustomResourceDefinition be of this group? Its own needs a dot in it."""
    return "." not in group


def _names(resource: Resource) -> tuple[str, ...]:
    return (*resource.short_names, resource.kind, resource.plural)


def _served_as(found: Sequence[Resource]) -> str:
    versions = list(dict.fromkeys(one.api_version for one in found))[:_MOST]
    return f"{found[0].kind} is served as {' and '.join(versions)}"


def _near(api_version: str, kind: str, served: Sequence[Resource]) -> str:
    """Of the kinds of this version, or else of all, the one that is spelled most like it."""
    if kind.endswith("List"):
        return ""
    here = [one for one in served if one.verbs and one.api_version == api_version]
    spelled = {one.kind.lower(): one for one in [*here, *served] if one.verbs}
    for among in ([one.kind.lower() for one in here], list(spelled)):
        if near := get_close_matches(kind.lower(), among, n=1, cutoff=_CLOSE):
            found = spelled[near[0]]
            version = "" if found.api_version == api_version else f" in {found.api_version}"
            return f"did you mean {found.kind}{version}?"
    return ""
