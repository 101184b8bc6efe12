"""Prints what waits for what: as a table for a terminal, as Mermaid for a document, as DOT for Graphviz.

`order.py` has the rules; here they are drawn, with arrows from what comes first to what waits for it. Modules that are
not on have no order: the table lists them with the reason, the drawings leave them out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import groupby

from hookrunner.model.modules import Choice, Decision, Module
from hookrunner.modules.discovery import sort_key
from hookrunner.modules.order import ModuleOrder
from kubetypes.light_dataclasses import dataclass

_MERMAID = {"weight": "-.->", "gate": "==>", "requires": "-->"}
_DOT = {"weight": "style=dashed", "gate": "style=bold", "requires": "style=solid"}
"""How the edges of each kind are drawn."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Modules with the decisions about them by name; without a decision, a module that can be loaded counts as on."""

    modules: Sequence[Module]
    decisions: Mapping[str, Decision] = field(default_factory=dict)

    def decision(self, module: Module) -> Decision:
        default = Decision(Choice.UNDECIDED, "", module.problem) if module.problem else Decision(Choice.ON)
        return self.decisions.get(module.name, default)

    def order(self) -> ModuleOrder:
        return ModuleOrder(module for module in self.modules if self.decision(module).choice is Choice.ON)


def text(graph: Graph) -> str:
    """A line for each module in the order in which they run, then those that do not, and why."""
    order = graph.order()
    rows = [("WEIGHT", "MODULE", "WAITS FOR")]
    for module in order.sequence:
        name = f"{module.name} (gate)" if module.traits.gate else module.name
        rows.append(("-" if module.traits.modules else str(module.weight), name, _waits(module, order)))
    for module in sorted(graph.modules, key=sort_key):
        if module.name not in order.modules:
            decision = graph.decision(module)
            rows.append((str(module.weight), module.name, f"{decision.choice}: {decision.reason}"))
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "".join(f"{weight:>{first}}  {name:<{second}}  {waits}\n" for weight, name, waits in rows)


def mermaid(graph: Graph) -> str:
    """Source: https://mermaid.js.org/syntax/flowchart.html"""
    order = graph.order()
    ids = _ids(order)
    lines = ["flowchart TD"]
    for weight, group in _chain(order):
        lines.append(f'  subgraph {_place(weight)}["weight {weight}"]')
        lines += [f"    {ids[module.name]}{_shape(module)}" for module in group]
        lines.append("  end")
    lines += [f"  {ids[module.name]}{_shape(module)}" for module in order.sequence if module.traits.modules]
    for edge in _edges(order):
        label = f'|"{_quoted(edge.label)}"|' if edge.label else ""
        ends = [ids[end] if isinstance(end, str) else _place(end) for end in (edge.first, edge.then)]
        lines.append(f"  {ends[0]} {_MERMAID[edge.kind]}{label} {ends[1]}")
    return "\n".join(lines) + "\n"


def dot(graph: Graph) -> str:
    """Source: https://graphviz.org/doc/info/lang.html"""
    order = graph.order()
    ids = _ids(order)
    groups = dict(_chain(order))
    lines = ["digraph modules {", "  compound=true;", "  node [shape=box];"]
    for weight, group in groups.items():
        lines += [f"  subgraph cluster_{_place(weight)} {{", f'    label="weight {weight}";']
        lines += [f"    {ids[module.name]} {_attributes(module)};" for module in group]
        lines.append("  }")
    lines += [f"  {ids[module.name]} {_attributes(module)};" for module in order.sequence if module.traits.modules]
    for edge in _edges(order):
        ends = [end if isinstance(end, str) else groups[end][0].name for end in (edge.first, edge.then)]
        drawn = [_DOT[edge.kind]]
        drawn += [f"ltail=cluster_{_place(edge.first)}"] if isinstance(edge.first, int) else []
        drawn += [f"lhead=cluster_{_place(edge.then)}"] if isinstance(edge.then, int) else []
        drawn += [f'label="{_escaped(edge.label)}"'] if edge.label else []
        lines.append(f"  {ids[ends[0]]} -> {ids[ends[1]]} [{', '.join(drawn)}];")
    return "\n".join([*lines, "}"]) + "\n"


@dataclass(frozen=True, slots=True)
class _Edge:
    """An arrow between modules, by name, or all modules of a weight that are in the chain."""

    first: str | int
    then: str | int
    kind: str
    label: str = ""


def _chain(order: ModuleOrder) -> Iterator[tuple[int, list[Module]]]:
    """The modules that wait for lower weights, by weight."""
    chain = (module for module in order.modules.values() if not module.traits.modules)
    for weight, group in groupby(chain, key=lambda module: module.weight):
        yield weight, list(group)


def _edges(order: ModuleOrder) -> Iterator[_Edge]:
    """A gate and a weight have an arrow to the next weight only: those above wait for that one anyway."""
    drawn: set[str] = set()
    below: int | None = None
    for weight, group in _chain(order):
        waits = order.waits_for(group[0].name)
        for wait in waits:
            if wait.kind == "gate" and wait.name not in drawn:
                drawn.add(wait.name)
                yield _Edge(wait.name, weight, "gate")
        if below is not None and any(wait.kind == "weight" for wait in waits):
            yield _Edge(below, weight, "weight")
        below = weight
    for module in order.sequence:
        for name, wanted in module.traits.modules:
            if name in order.modules:
                yield _Edge(name, module.name, "requires", wanted)


def _waits(module: Module, order: ModuleOrder) -> str:
    """In words: `weight 10, gate storage`, or `requires dns >=1.2`."""
    if module.traits.modules:
        return "requires " + ", ".join(f"{name} {wanted}".strip() for name, wanted in module.traits.modules)
    waits = order.waits_for(module.name)
    weights = dict.fromkeys(f"weight {order.modules[wait.name].weight}" for wait in waits if wait.kind == "weight")
    gates = (f"gate {wait.name}" for wait in waits if wait.kind == "gate")
    return ", ".join((*weights, *gates)) or "nothing"


def _ids(order: ModuleOrder) -> dict[str, str]:
    """Names that both languages take without quotes."""
    return {module.name: f"m{number}" for number, module in enumerate(order.sequence)}


def _place(weight: int) -> str:
    return f"w{weight}"


def _shape(module: Module) -> str:
    """In Mermaid: a hexagon if it is a gate."""
    name = f'"{_quoted(module.name)}"'
    return f"{{{{{name}}}}}" if module.traits.gate else f"[{name}]"


def _attributes(module: Module) -> str:
    """In DOT."""
    return f'[label="{_escaped(module.name)}"{", shape=hexagon" if module.traits.gate else ""}]'


def _quoted(words: str) -> str:
    return words.replace('"', "#quot;")


def _escaped(words: str) -> str:
    return words.replace("\\", "\\\\").replace('"', '\\"')
