"""Adds what is installed to the list of addons: the releases of modules and instances, as convergence knows them."""

from collections.abc import Iterable
from functools import partial

from hookrunner.convergence.assembly import Convergence
from hookrunner.discovery.addon_queue import AddonQueue
from hookrunner.discovery.discovery_assembly import AddonDiscovery, InstalledPart
from hookrunner.discovery.installed_components import InstalledComponents
from hookrunner.engine.assembly import Kube
from hookrunner.settings import Settings


def discover_installed(settings: Settings, kube: Kube, convergence: Convergence) -> AddonDiscovery:
    """The list with what is installed in it. Nothing runs before its `start`."""
    helm, queue = convergence.helm, AddonQueue()
    changes = convergence.states.unit_changes.subscribe()
    components = InstalledComponents(helm.releases, changes, helm.drift.watches, queue)
    tasks = {
        "what is installed": partial(components.follow_records, partial(_namespaces, convergence)),
        "health of what is installed": partial(components.follow_facts, components.whole),
        "existence of what is installed": partial(components.follow_facts, components.metadata),
    }
    return AddonDiscovery(settings, kube, InstalledPart(queue, helm.namespace, helm.releases.kinds, components, tasks))


def _namespaces(convergence: Convergence) -> Iterable[str]:
    """Those of releases."""
    modules = (state.unit.namespace for state in convergence.states.modules)
    return dict.fromkeys(filter(None, (convergence.helm.namespace, *modules)))
