"""What waits for what, in three languages. Level: pure."""

import re
from collections.abc import Callable

from hookrunner.model.modules import Choice, Decision, Traits
from hookrunner.modules.graph import Graph, dot, mermaid, text
from tests.modules.conftest import module, requiring
from tests.tables import each

MODULES = (
    module("storage", 10, Traits(gate=True)),
    module("dns", 10),
    module("ingress", 20),
    module("metrics", 20),
    module("dashboard", 5, requiring("ingress >=1.2", "metrics")),
    module("last", 30),
    module("unwanted", 15),
    module("broken", 1, problem="no schema"),
)
GRAPH = Graph(
    MODULES, {"unwanted": Decision(Choice.OFF, "KubeConfig", "unwantedEnabled is false in the configuration")}
)


def test_the_table_says_what_each_waits_for_and_why_others_do_not_run() -> None:
    assert text(GRAPH).splitlines() == [
        "WEIGHT  MODULE          WAITS FOR",
        "    10  dns             nothing",
        "    10  storage (gate)  nothing",
        "    20  ingress         weight 10, gate storage",
        "    20  metrics         weight 10, gate storage",
        "     -  dashboard       requires ingress >=1.2, metrics",
        "    30  last            weight 20, gate storage",
        "     1  broken          undecided: no schema",
        "    15  unwanted        off: unwantedEnabled is false in the configuration",
    ]


def test_mermaid_draws_weights_as_boxes_and_a_gate_once() -> None:
    assert mermaid(GRAPH).splitlines() == [
        "flowchart TD",
        '  subgraph w10["weight 10"]',
        '    m0["dns"]',
        '    m1{{"storage"}}',
        "  end",
        '  subgraph w20["weight 20"]',
        '    m2["ingress"]',
        '    m3["metrics"]',
        "  end",
        '  subgraph w30["weight 30"]',
        '    m5["last"]',
        "  end",
        '  m4["dashboard"]',
        "  m1 ==> w20",
        "  w10 -.-> w20",
        "  w20 -.-> w30",
        '  m2 -->|">=1.2"| m4',
        "  m3 --> m4",
    ]


def test_dot_draws_the_same() -> None:
    drawn = dot(GRAPH)
    assert drawn.startswith("digraph modules {\n")
    assert drawn.endswith("}\n")
    assert re.findall(r"m\d -> .*;", drawn) == [
        "m1 -> m2 [style=bold, lhead=cluster_w20];",
        "m0 -> m2 [style=dashed, ltail=cluster_w10, lhead=cluster_w20];",
        "m2 -> m5 [style=dashed, ltail=cluster_w20, lhead=cluster_w30];",
        'm2 -> m4 [style=solid, label=">=1.2"];',
        "m3 -> m4 [style=solid];",
    ]
    assert re.findall(r'label="([^"]*)"', drawn)[:3] == ["weight 10", "dns", "storage"]


@each(
    ("draw", "drawn"),
    [
        (text, "WEIGHT  MODULE  WAITS FOR\n"),
        (mermaid, "flowchart TD\n"),
        (dot, "digraph modules {\n  compound=true;\n  node [shape=box];\n}\n"),
    ],
)
def test_without_modules_there_is_nothing_to_draw(draw: Callable[[Graph], str], drawn: str) -> None:
    assert draw(Graph(())) == drawn


def test_names_do_not_break_the_languages() -> None:
    graph = Graph((module('a"b', 1),))
    assert '["a#quot;b"]' in mermaid(graph)
    assert r'label="a\"b"' in dot(graph)


def test_a_thousand_modules_have_few_arrows() -> None:
    graph = Graph(tuple(module(f"m{n}", n // 100, Traits(gate=n % 2 == 0)) for n in range(1000)))
    assert len(mermaid(graph).splitlines()) < 2000
