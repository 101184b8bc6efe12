"""Three managers write at random to a Widget, on a real API server and here: nothing may differ.

Level: control plane."""

import secrets
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from kubetypes.json_values import JSON
from tests.examples import several
from tests.kubesandbox.fields.replay import Replay
from tests.kubesandbox.fields.widgets import widget, widget_kind
from tests.kubesandbox.oracle import ONLY_LIVE, Oracle

TEXTS = st.sampled_from(["a", "b", "c"])
MANAGERS = st.sampled_from(["a1", "a2", "a3"])


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


def few(*values: JSON) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), unique=True, max_size=4)


def listed(key: st.SearchStrategy[Any], by: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    element = st.fixed_dictionaries({by: key}, optional=fields)
    return st.lists(element, unique_by=lambda one: (one[by], one.get("protocol", "TCP")), max_size=4)


INNER = some(a=TEXTS, b=TEXTS, items=listed(st.sampled_from([1, 2, 9, 10]), "id", text=TEXTS), tags=few("x", "y", "z"))
SPECS = some(
    text=TEXTS,
    maybe=st.sampled_from([None, "x"]),
    flag=st.booleans(),
    either=st.sampled_from([1, "1", "2"]),
    struct=INNER,
    whole=INNER,
    labels=st.dictionaries(TEXTS, TEXTS, max_size=3),
    structs=st.dictionaries(st.sampled_from("ab"), INNER, max_size=2),
    list=st.lists(TEXTS, max_size=2),
    set=few("a", "b", "c", "d", "e"),
    numbers=few(1, 2, 10, -3),
    ports=listed(
        st.sampled_from([80, 443, 9]), "port", protocol=st.sampled_from(["TCP", "UDP"]), name=TEXTS, inner=INNER
    ),
    free=st.sampled_from([{}, {"x": 1}, {"x": True}, {"x": {"y": "a"}}, {"x": [1, {"a": "b"}]}, {"x": None}]),
    half=some(known=INNER, other=st.sampled_from([1, {"a": 1}, {"a": {"b": "c"}}, [1]])),
)


class Writers(RuleBasedStateMachine):
    """The life of one Widget."""

    oracle: Oracle
    group: str

    @initialize()
    def choose_a_name(self) -> None:
        self.replay = Replay(self.oracle, widget_kind(self.group), f"r{secrets.token_hex(6)}")

    @rule(manager=MANAGERS, spec=SPECS, force=st.booleans())
    def apply(self, manager: str, spec: JSON, force: bool) -> None:
        self.replay.apply(manager, widget(self.group, spec, name=self.replay.name), force=force)

    @precondition(lambda self: self.replay.live is not None)
    @rule(manager=MANAGERS, spec=SPECS)
    def put(self, manager: str, spec: JSON) -> None:
        self.replay.put(manager, {**self.replay.live, "spec": spec})

    @precondition(lambda self: self.replay.live is not None)
    @rule(manager=MANAGERS, spec=SPECS, gone=st.sets(st.sampled_from(["text", "struct", "ports", "set", "labels"])))
    def patch(self, manager: str, spec: JSON, gone: set[str]) -> None:
        self.replay.patch(manager, {"spec": spec | dict.fromkeys(gone)})

    @precondition(lambda self: self.replay.live is not None)
    @rule(manager=MANAGERS, phase=TEXTS, applies=st.booleans())
    def write_status(self, manager: str, phase: str, applies: bool) -> None:
        if applies:
            config = widget(self.group, {}, name=self.replay.name) | {"status": {"phase": phase}}
            self.replay.apply(manager, config, subresource="status")
        else:
            self.replay.patch(manager, {"status": {"phase": phase}}, "status")


@ONLY_LIVE
def test_any_order_of_writes_leaves_what_it_leaves_on_a_real_server(oracle: Oracle, group: str) -> None:
    every = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
    bounds = settings(
        max_examples=several(40), stateful_step_count=10, deadline=None, database=None, suppress_health_check=every
    )
    machine = type("WritersThere", (Writers,), {"oracle": oracle, "group": group})
    run_state_machine_as_test(machine, settings=bounds)
