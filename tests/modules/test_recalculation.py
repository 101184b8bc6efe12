"""One pass over all modules: who is asked, in which order, and what is known when. The scripts are made up.

Level: pure."""

import asyncio
from collections.abc import Sequence

import pytest

from hookrunner.errors import ScriptFailed
from hookrunner.model.modules import Choice, Decision, Module
from hookrunner.modules.enabled import REQUIRES, SCRIPT, Facts, Recalculation, ScriptAnswer, ScriptValues
from hookrunner.settings.modules import EXTENDERS
from tests.fakes.cost import QUADRATIC, growth
from tests.modules.conftest import module, requiring
from tests.tables import each


class Scripts:
    """Gives the answers of the test, and remembers which modules it was asked about and what they saw."""

    def __init__(self, answers: dict[str, ScriptAnswer | ScriptFailed] | None = None) -> None:
        self.answers = answers or {}
        self.saw: dict[str, list[str]] = {}

    async def ask(self, module: Module, documents: ScriptValues, enabled: Sequence[str]) -> ScriptAnswer:
        self.saw[module.name] = list(enabled)
        answer = self.answers.get(module.name, ScriptAnswer(True))
        if isinstance(answer, ScriptFailed):
            raise answer
        return answer


async def decide(
    modules: Sequence[Module], scripts: Scripts, facts: Facts | None = None, chain: Sequence[str] = EXTENDERS
) -> dict[str, str]:
    """Every module's choice and who made it, as `on Static`; all of them are turned on in the cluster."""
    facts = facts or Facts(config={module.key: True for module in modules})
    documents = {module.key: ScriptValues({}, {}) for module in modules}
    decisions = await Recalculation(chain, facts, documents, scripts).decisions(modules)
    return {name: f"{decision.choice} {decision.by}".strip() for name, decision in decisions.items()}


async def test_scripts_see_the_modules_before_them_that_are_on_by_weight_and_name() -> None:
    scripts = Scripts({"b": ScriptAnswer(False, "not here")})
    modules = [module(name, weight, script=True) for name, weight in (("e", 2), ("d", 2), ("b", 1), ("a", 1), ("c", 1))]
    assert await decide(modules, scripts) == {
        "a": "on KubeConfig",
        "b": "off ScriptEnabled",
        "c": "on KubeConfig",
        "d": "on KubeConfig",
        "e": "on KubeConfig",
    }
    assert scripts.saw == {"a": [], "b": ["a"], "c": ["a"], "d": ["a", "c"], "e": ["a", "c", "d"]}


async def test_a_script_that_fails_leaves_its_module_undecided_and_the_others_go_on() -> None:
    scripts = Scripts({"a": ScriptFailed("exit status 3")})
    modules = [module("a", 1, script=True), module("b", 2, script=True)]
    assert await decide(modules, scripts) == {"a": "undecided ScriptEnabled", "b": "on KubeConfig"}
    assert scripts.saw["b"] == []


async def test_scripts_of_others_see_an_undecided_running_module_as_on() -> None:
    scripts = Scripts({"a": ScriptFailed("exit status 3")})
    facts = Facts(config={"a": True, "b": True}, running=frozenset({"a"}))
    await decide([module("a", 1, script=True), module("b", 2, script=True)], scripts, facts)
    assert scripts.saw["b"] == ["a"]


@each(
    ("asked", "facts", "chain"),
    [
        (True, Facts(config={"a": True}), EXTENDERS),
        (False, Facts(), EXTENDERS),
        (False, Facts(config={"a": True}, invalid={"a": "bad"}), EXTENDERS),
        (False, Facts(config={"a": True}), ("Static", "KubeConfig")),
        (True, Facts(config={"a": True}), ("ScriptEnabled", "KubeConfig")),
    ],
)
async def test_a_script_is_asked_only_if_the_module_would_be_on(
    asked: bool, facts: Facts, chain: tuple[str, ...]
) -> None:
    scripts = Scripts({"a": ScriptAnswer(False)})
    decided = await decide([module("a", script=True)], scripts, facts, chain)
    assert (decided["a"] == f"off {SCRIPT}") == bool(scripts.saw) == asked


async def test_requirements_are_decided_before_scripts_regardless_of_weights() -> None:
    scripts = Scripts()
    modules = [module("a", 1, requiring("b"), script=True), module("b", 2, requiring("c")), module("c", 3)]
    facts = Facts(config={"a": True, "b": True})
    assert await decide(modules, scripts, facts) == {"c": "off", "b": f"off {REQUIRES}", "a": f"off {REQUIRES}"}
    assert scripts.saw == {}
    assert set((await decide(modules, scripts)).values()) == {"on KubeConfig"}
    assert scripts.saw == {"a": ["c", "b"]}


async def test_only_dependents_of_an_undecided_module_are_undecided() -> None:
    modules = [module("a", 1, problem="broken"), module("b", 1, requiring("a")), module("c", 9)]
    assert await decide(modules, Scripts()) == {"a": "undecided", "b": f"undecided {REQUIRES}", "c": "on KubeConfig"}


@pytest.mark.slow
def test_the_cost_of_decisions_grows_with_the_number_of_modules() -> None:
    modules = [
        module(f"m{n}", n % 50, requiring(*(f"m{n - k}" for k in range(1, 6) if n >= k), gate=n % 10 == 0))
        for n in range(1000)
    ]

    def work(size: int) -> None:
        decided = asyncio.run(decide(modules[:size], Scripts()))
        assert list(decided.values()) == ["on KubeConfig"] * size

    assert growth(work, 250) < QUADRATIC * 0.7


async def test_one_module_is_decided_about_alone_with_the_last_decisions_about_those_before_it() -> None:
    scripts = Scripts({"c": ScriptAnswer(False, "not here")})
    modules = [module(name, weight, script=True) for name, weight in (("a", 1), ("b", 2), ("c", 3), ("d", 4))]
    facts = Facts(config={module.key: True for module in modules})
    documents = {module.key: ScriptValues({}, {}) for module in modules}
    last = {module.name: Decision(Choice.OFF if module.name == "b" else Choice.ON) for module in modules}
    decision = await Recalculation(EXTENDERS, facts, documents, scripts).again(modules[2], modules, last)
    assert (decision, scripts.saw) == (Decision(Choice.OFF, SCRIPT, "not here"), {"c": ["a"]})
