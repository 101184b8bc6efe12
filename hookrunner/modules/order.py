"""In which order modules run, and what each waits for (see docs/modules.md).

    order = ModuleOrder(modules)    those that are on
    order.sequence                  required ones first, then by weight and name; deletion goes the other way
    order.waits_for(name)           what has to be ready before its first run, for people
    order.steps, order.required     the same for `convergence/turns`, which knows who was ready before

By default a module waits for every module of a lower weight, as long as patience lasts. One with `requires` is not part
of that chain: it waits for what it requires, and only modules that require it wait for it, unless it is a `gate`. For
gates and for what is required there is no patience, so these must not form a cycle: `cycles` finds those that do before
anything runs.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from itertools import groupby, pairwise
from typing import Literal

from hookrunner.model.modules import Module
from hookrunner.modules.discovery import sort_key
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wait:
    """One thing to wait for: the module `name`. For `weight` it is enough that it has failed or had its time; for
    `gate` and `requires` it must be ready."""

    name: str
    kind: Literal["weight", "gate", "requires"]


@dataclass(frozen=True, slots=True)
class WeightStep:
    """The modules of one weight that higher weights wait for: those in the chain, and gates."""

    weight: int
    chain: tuple[str, ...]
    gates: tuple[str, ...]


class ModuleOrder:
    """The order of some modules, without cycles. Only requirements among them count. `steps` has every weight, from the
    lowest on; `required` has the modules that each one requires, None for one that waits for weights and gates
    instead."""

    def __init__(self, modules: Iterable[Module]) -> None:
        self.modules = {module.name: module for module in sorted(modules, key=sort_key)}
        self.sequence = sequence(tuple(self.modules.values()))
        self.steps = tuple(_steps(self.modules.values()))
        self.required = {name: self._required(module) for name, module in self.modules.items()}
        self._waits = _waits(self.modules.values())

    def waits_for(self, name: str) -> tuple[Wait, ...]:
        """What its first run waits for. Of lower weights only the nearest that has a module in the chain: the modules
        of that one have waited for the rest."""
        if (required := self.required[name]) is not None:
            return tuple(Wait(other, "requires") for other in required)
        return self._waits[self.modules[name].weight]

    def _required(self, module: Module) -> tuple[str, ...] | None:
        pairs = module.traits.modules
        return tuple(other for other, _ in pairs if other in self.modules) if pairs else None


def sequence(modules: Sequence[Module]) -> tuple[Module, ...]:
    """Modules by weight and name, but each after what it requires. Those in a cycle come last."""
    known = {module.name: module for module in modules}
    sorter = TopologicalSorter({name: known.keys() & dict(module.traits.modules) for name, module in known.items()})
    ready = list[tuple[int, str]]()
    ordered: dict[str, Module] = {}
    with suppress(CycleError):  # which leaves the rest to be sorted
        sorter.prepare()
    while sorter.is_active():
        for name in sorter.get_ready():
            heappush(ready, sort_key(known[name]))
        _, name = heappop(ready)
        ordered[name] = known[name]
        sorter.done(name)
    rest = sorted((module for module in modules if module.name not in ordered), key=sort_key)
    return (*ordered.values(), *rest)


def cycles(modules: Sequence[Module]) -> dict[str, str]:
    """The names of modules that would wait for themselves, each with the cycle in words."""
    known = {module.name: module for module in modules}
    graph = _graph(modules)
    problems: dict[str, str] = {}
    for name in _unsorted(graph):
        if isinstance(name, str) and (path := _shortest_cycle(name, graph)):
            problems[name] = f"it would wait for itself indefinitely: {_describe(path, known)}; remove one of these"
    return problems


Node = str | int
"""A module by its name, or a weight: modules wait for the gates below it."""


def _graph(modules: Iterable[Module]) -> dict[Node, list[Node]]:
    """What waits without patience for what. Gates are reached through weights: otherwise every module would have an
    edge to every gate."""
    graph: dict[Node, list[Node]] = {}
    below: list[Node] = []
    ordered = sorted(modules, key=sort_key)
    names = {module.name for module in ordered}
    for weight, group in groupby(ordered, key=lambda module: module.weight):
        graph[weight], below = below, [weight]
        for module in group:
            required: list[Node] = [name for name, _ in module.traits.modules if name in names]
            graph[module.name] = required if module.traits.modules else [weight]
            below += [module.name] if module.traits.gate else []
    return graph


def _unsorted(graph: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """The nodes that are left when those that wait for no other are removed repeatedly: those in cycles, and what waits
    for them."""
    sorter, left = TopologicalSorter(graph), dict.fromkeys(graph)
    with suppress(CycleError):
        sorter.prepare()
    while free := sorter.get_ready():
        for node in free:
            del left[node]
        sorter.done(*free)
    return list(left)


def _shortest_cycle(start: Node, graph: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """The shortest path from a node back to it, with it at both ends; empty without one."""
    came_from: dict[Node, Node] = {}
    front = deque([start])
    while front:
        node = front.popleft()
        for other in graph[node]:
            if other not in came_from:
                came_from[other] = node
                front.append(other)
        if start in came_from:
            break
    else:
        return []
    way = [start, came_from[start]]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]


def _describe(way: Sequence[Node], modules: Mapping[str, Module]) -> str:
    names = [node for node in way if isinstance(node, str)]
    steps = []
    for name, other in pairwise(names):
        required = other in dict(modules[name].traits.modules)
        steps.append(f"{name} requires {other}" if required else f"{name} waits for the gate {other}")
    return ", ".join(steps)


def _steps(modules: Iterable[Module]) -> Iterator[WeightStep]:
    """The weights of modules that are sorted by weight. Only gates among those with `requires` are waited for."""
    for weight, members in groupby(modules, key=lambda module: module.weight):
        group = tuple(members)
        chain = tuple(module.name for module in group if not (module.traits.modules or module.traits.gate))
        yield WeightStep(weight, chain, tuple(module.name for module in group if module.traits.gate))


def _waits(modules: Iterable[Module]) -> dict[int, tuple[Wait, ...]]:
    """What modules of each weight wait for that have no `requires`: gates below it, and the step of the chain below."""
    waits: dict[int, tuple[Wait, ...]] = {}
    gates: tuple[Wait, ...] = ()
    below: tuple[Wait, ...] = ()
    for weight, members in groupby(modules, key=lambda module: module.weight):
        waits[weight] = (*gates, *below)
        group = tuple(members)
        gates += tuple(Wait(module.name, "gate") for module in group if module.traits.gate)
        chain = [module for module in group if not module.traits.modules]
        if chain:
            below = tuple(Wait(module.name, "weight") for module in chain if not module.traits.gate)
    return waits
