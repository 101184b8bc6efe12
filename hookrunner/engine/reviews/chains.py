"""Which declared conversions lead from one version of a custom resource to another. Pure; nothing is run here.

    chains = Chains(hooks)
    chains.find("crontabs.example.com", "example.com/v1alpha1", "example.com/v1")   # the steps, as few as possible
    plan(chains, "crontabs.example.com", versions, "example.com/v1")                # … for objects of many versions

Hooks may each declare a part of the way: the rules of all of them make one graph for each CustomResourceDefinition.
Unlike in shell-operator, the way is the shortest, and of several the choice is always the same."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from hookrunner.errors import ReviewFailed
from hookrunner.model.bindings import ConversionBinding, Hook
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One declared rule. `index` is that of the binding in the hook's config; the versions are as written."""

    hook: Hook
    index: int
    binding: ConversionBinding
    source: str
    target: str

    def __str__(self) -> str:
        return f"hook '{self.hook.name}', binding '{self.binding.name}', {self.source}→{self.target}"


@dataclass(frozen=True, slots=True)
class Leg:
    """One hook run of a conversion: all objects of version `source` become `target`, both with their group."""

    step: Step
    source: str
    target: str


Chain: TypeAlias = tuple[Step, ...]


class Chains:
    """The conversions that hooks declare; the order of the hooks decides between equally good ways."""

    def __init__(self, hooks: Iterable[Hook]) -> None:
        self._steps: dict[str, list[Step]] = {}
        for step in _declared(hooks):
            self._steps.setdefault(step.binding.crd, []).append(step)

    def has(self, crd: str) -> bool:
        """Whether any hook converts objects of this definition."""
        return crd in self._steps

    def find(self, crd: str, source: str, target: str) -> Sequence[Step] | None:
        """The shortest chain of at least one step; None if no chain leads there.

        Of several, one that ends in exactly `target`, then one that starts from exactly `source`, then the one whose
        first differing step was declared first: by hook, binding, rule.
        """
        steps = self._steps.get(crd, [])
        chains: list[Chain] = [(step,) for step in steps if matches(step.source, source)]
        seen = {_end(chain, source) for chain in chains}
        while chains:
            if arrived := [chain for chain in chains if matches(chain[-1].target, target)]:
                return min(arrived, key=lambda chain: (chain[-1].target != target, chain[0].source != source))
            chains = list(_extended(chains, steps, source, seen))
        return None

    def reachable(self, crd: str, source: str) -> Sequence[str]:
        """The versions, as written, to which there is a way."""
        targets = dict.fromkeys(step.target for step in self._steps.get(crd, []))
        return [target for target in targets if not matches(target, source) and self.find(crd, source, target)]


def matches(version: str, other: str) -> bool:
    """Whether two versions may mean the same: a version without a group stands for that of any group."""
    if ("/" in version) == ("/" in other):
        return version == other
    return version.rpartition("/")[2] == other.rpartition("/")[2]


def plan(chains: Chains, crd: str, versions: Iterable[str], desired: str) -> Sequence[Leg]:
    """The hook runs that convert objects of all these versions to the desired one, each version in one run.

    Those that are furthest away go first, so that they join the others before these are converted. Versions
    carry their group. Raises ReviewFailed if one of them leads nowhere.
    """
    waiting = set(versions) - {desired}
    legs: dict[str, Leg] = {}
    while waiting:
        ways = {version: _way(chains, crd, version, desired) for version in waiting}
        source = max(ways, key=lambda version: (len(ways[version]), version))
        leg = legs[source] = Leg(ways[source][0], source, completed(ways[source][0].target, crd))
        if leg.target in legs:
            # Only rules that name a group other than the definition's get here: no object ever has their versions.
            raise _no_way(chains, crd, leg.target, desired)
        waiting = (waiting | {leg.target}) - {source, desired}
    return list(legs.values())


def completed(version: str, crd: str) -> str:
    """A version with its group, which a definition's name ends in."""
    return version if "/" in version else f"{crd.partition('.')[2]}/{version}"


def _declared(hooks: Iterable[Hook]) -> Iterator[Step]:
    for hook in hooks:
        for index, binding in enumerate(hook.config.conversions):
            for source, target in binding.rules:
                yield Step(hook, index, binding, source, target)


def _extended(
    chains: Iterable[Chain], steps: Iterable[Step], source: str, seen: set[tuple[Step, bool]]
) -> Iterator[Chain]:
    """Every chain with every step that continues it, unless an earlier chain has reached that step."""
    for chain in chains:
        for step in steps:
            longer = (*chain, step)
            if matches(step.source, chain[-1].target) and (end := _end(longer, source)) not in seen:
                seen.add(end)
                yield longer


def _end(chain: Chain, source: str) -> tuple[Step, bool]:
    """What makes a chain better or worse than another of the same length."""
    return chain[-1], chain[0].source == source


def _way(chains: Chains, crd: str, source: str, desired: str) -> Sequence[Step]:
    way = chains.find(crd, source, desired)
    if way is None:
        raise _no_way(chains, crd, source, desired)
    return way


def _no_way(chains: Chains, crd: str, source: str, desired: str) -> ReviewFailed:
    ways = ", ".join(chains.reachable(crd, source)) or "nowhere"
    return ReviewFailed(
        f"no hook converts {crd} from {source} to {desired}: the declared conversions lead from there to {ways}; "
        "declare what is missing in `conversions` of a hook"
    )
