"""The rights that hooks declare: watches by their bindings, everything else by `settings.permissions`.

Bindings to schedules, phases and webhooks make no request of their own; the snapshots that they include are those of
kubernetes bindings. An informer begins with `watch` on servers that can list by it, and with `list` on others.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from hookrunner.model.bindings import Hook, Kubernetes
from hookrunner.model.resources import Selection
from hookrunner.model.rights import Reason, Right
from hookrunner.rights.kind_names import KindNames
from hookrunner.sources.monitors import selections

WATCH = ("list", "watch")
_BY_NAME = "metadata.name="


def reason_of(hook: Hook, why: str) -> Reason:
    """What a hook needs something for."""
    return Reason(f"hook {hook.name}", why)


def declared_rights(hooks: Iterable[Hook], kinds: KindNames) -> Iterator[Right]:
    """The rights of bindings and those that hooks state. Raises BadInput for a binding whose kind has no known
    group."""
    for hook in hooks:
        yield from stated_rights(hook)
        for binding in hook.config.kubernetes:
            need = reason_of(hook, f"binding '{binding.name}'")
            yield from (replace(right, needs=(need,)) for right in _binding_rights(binding, kinds))


def stated_rights(hook: Hook) -> Iterator[Right]:
    """What the hook states in its configuration."""
    need = reason_of(hook, "settings.permissions")
    return (replace(right, needs=(need,)) for right in hook.config.settings.permissions or ())


def _binding_rights(binding: Kubernetes, kinds: KindNames) -> Iterator[Right]:
    """None for a binding without a kind, which watches nothing."""
    if not binding.kind:
        return
    namespaces = binding.namespaces or ("",)
    if binding.namespace_labels is not None:
        yield Right(("",), ("namespaces",), WATCH)
        namespaces = ("",)  # which ones is decided by their labels
    for selection, _ in selections(binding, namespaces):
        yield _watch_right(selection, kinds)


def _watch_right(selection: Selection, kinds: KindNames) -> Right:
    """An API server takes the name in a field selector for that of the request, so that a rule may name it."""
    resource = kinds.find(selection.api_version, selection.kind)
    terms = selection.fields.split(",") if selection.fields else []
    names = tuple(term.removeprefix(_BY_NAME) for term in terms if term.startswith(_BY_NAME))
    namespace = selection.namespace if resource.namespaced else ""
    return Right((resource.group,), (resource.plural,), WATCH, names[:1], namespace)
