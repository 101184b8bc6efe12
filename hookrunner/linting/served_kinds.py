"""Which kinds Kubernetes serves, without a cluster: those of the API server whose names `kubetypes` has.

Of custom kinds nothing is known here. Nothing is said of a group that is not one of Kubernetes' own.
"""

import re
from collections.abc import Iterator
from functools import cache

from hookrunner.linting.findings import Remark
from hookrunner.linting.hook_source import Source
from hookrunner.model.bindings import HookConfig, Kubernetes
from hookrunner.model.resources import Resource, find_named, hint_kind, is_known_group
from kubetypes.openapi import builtin_kinds

CODE = "kind-unserved"

_API_VERSION = r"""apiVersion["']?\s*[:=]\s*["']?(?P<{0}version>[a-z0-9.-]+(?:/v[a-z0-9]+)?)["']?"""
_KIND = r"""kind["']?\s*[:=]\s*["']?(?P<{0}kind>[A-Za-z]+)\b["']?"""
_BETWEEN = r"""[\s,\\n"']*?"""
_OBJECT = re.compile(
    "|".join((_BETWEEN.join((_API_VERSION, _KIND)).format("a"), _BETWEEN.join((_KIND, _API_VERSION)).format("b")))
)
"""An `apiVersion` beside a `kind`, in YAML, JSON or a dict of Python."""


def check_kinds(source: Source, config: HookConfig) -> Iterator[Remark]:
    """Remarks on bindings, and on objects and operations that stand in the text."""
    for binding in config.kubernetes:
        if unserved := problem(binding.api_version, binding.kind):
            text = f"the binding '{binding.name}' follows nothing: {unserved}"
            yield Remark(CODE, source.find(*_spellings(binding)), text)
    bound = {(one.api_version, one.kind) for one in config.kubernetes}
    for match in _OBJECT.finditer(source.code):
        api_version, kind = match["aversion"] or match["bversion"], match["akind"] or match["bkind"]
        if (api_version, kind) not in bound and (unserved := problem(api_version, kind)):
            yield Remark(CODE, match.start(), unserved)


def problem(api_version: str, kind: str, exact: bool = False) -> str:
    """Why Kubernetes does not serve this kind and what it serves instead; empty if it does, or if nothing is known.
    With `exact` the kind has to be spelled as in a manifest."""
    served = _served()
    if not api_version or not is_known_group(api_version.rpartition("/")[0], served):
        return ""
    here = [resource for resource in find_named(served, kind) if resource.api_version == api_version]
    if any(resource.kind == kind or not exact for resource in here):
        return ""
    hint = hint_kind(api_version, kind, served)
    return hint and f"Kubernetes {_version()} serves no {kind} as {api_version}: {hint}"


def _spellings(binding: Kubernetes) -> tuple[str, ...]:
    return (
        f"apiVersion: {binding.api_version}",
        f'"{binding.api_version}"',
        f"kind: {binding.kind}",
        f'"{binding.kind}"',
        binding.kind,
    )


@cache
def _served() -> tuple[Resource, ...]:
    """With the names that users may write. For a kind without known names the plural is that of English."""
    names = builtin_kinds.names()
    resources = []
    for api_version, served in builtin_kinds.document()["served"].items():
        for kind in served:
            known = names.get((api_version.rpartition("/")[0], kind))
            plural, short = (known.plural, known.short_names) if known else (f"{kind.lower()}s", ())
            resources.append(Resource(api_version, kind, plural, True, short, verbs=("get",)))
    return tuple(resources)


def _version() -> str:
    return ".".join(builtin_kinds.document()["version"][part] for part in ("major", "minor"))
