"""Who decides whether a module is on. Scripts and the order of asking are tested in test_recalculation.py.

Level: pure."""

from pathlib import Path

from hookrunner.model.modules import Choice, Decision
from hookrunner.modules.enabled import CONFIG, DYNAMIC, REQUIRES, STATIC, Facts, flagged, uncertain, unmet
from hookrunner.modules.shelf import StaticFlag
from hookrunner.settings.modules import EXTENDERS
from tests.modules.conftest import module, requiring
from tests.tables import each

ON, OFF, UNDECIDED = Choice.ON, Choice.OFF, Choice.UNDECIDED
A = module("my-addon")
KEY = "myAddon"


def facts(static: bool | None, dynamic: bool | None, config: bool | None) -> Facts:
    return Facts(
        static={} if static is None else {KEY: StaticFlag(static, Path("/modules/values.yaml"))},
        dynamic={} if dynamic is None else {KEY: dynamic},
        config={} if config is None else {KEY: config},
    )


@each(
    ("static", "dynamic", "config", "choice", "by"),
    [
        (None, None, None, OFF, ""),
        (True, None, None, ON, STATIC),
        (False, None, None, OFF, STATIC),
        (False, True, None, ON, DYNAMIC),
        (True, False, None, OFF, DYNAMIC),
        (True, True, False, OFF, CONFIG),
        (False, False, True, ON, CONFIG),
        (None, None, True, ON, CONFIG),
    ],
)
def test_the_last_extender_that_says_anything_wins(
    static: bool | None, dynamic: bool | None, config: bool | None, choice: Choice, by: str
) -> None:
    decision = flagged(A, EXTENDERS, facts(static, dynamic, config))
    assert (decision.choice, decision.by) == (choice, by)


@each(
    ("chain", "by"),
    [
        (("Static",), STATIC),
        (("KubeConfig", "Static"), STATIC),
        (("Static", "DynamicallyEnabled"), DYNAMIC),
        (("ScriptEnabled",), ""),
        (("DynamicallyEnabled", "KubeConfig", "ScriptEnabled", "Static"), STATIC),
    ],
)
def test_extenders_are_asked_in_the_order_that_was_chosen_and_no_others(chain: tuple[str, ...], by: str) -> None:
    assert flagged(A, chain, facts(True, False, False)).by == by


def test_the_reason_says_where_the_flag_stands_and_silence_says_what_to_do() -> None:
    assert flagged(A, EXTENDERS, facts(True, None, None)).reason == "myAddonEnabled is true in /modules/values.yaml"
    assert 'set myAddonEnabled: "true"' in flagged(A, EXTENDERS, Facts()).reason


@each("key", [KEY, "global"])
def test_a_module_that_is_on_with_invalid_values_is_undecided(key: str) -> None:
    decision = uncertain(A, Decision(ON, CONFIG), Facts(invalid={key: "replicas: must be a number"}))
    assert decision == Decision(UNDECIDED, "", "replicas: must be a number")


@each("by", [DYNAMIC, CONFIG])
def test_a_broken_module_can_be_turned_off(by: str) -> None:
    broken = module("my-addon", problem="no schema")
    assert uncertain(broken, Decision(OFF, by), Facts(invalid={"global": "bad", KEY: "bad"})) is None


@each("by", [STATIC, ""])
def test_files_that_cannot_be_read_do_not_turn_a_module_off(by: str) -> None:
    broken = module("my-addon", problem="no schema")
    assert uncertain(broken, Decision(OFF, by), Facts()) == Decision(UNDECIDED, "", "no schema")
    assert uncertain(A, Decision(OFF, by), Facts(invalid={"global": "bad"})) == Decision(UNDECIDED, "", "bad")


def test_a_module_that_is_off_needs_no_valid_values_and_others_values_do_not_matter() -> None:
    assert uncertain(A, Decision(OFF, ""), Facts(invalid={KEY: "bad"})) is None
    assert uncertain(A, Decision(ON, CONFIG), Facts(invalid={"other": "bad"})) is None


@each(
    ("needs", "version", "choice", "told"),
    [
        ("b", ON, None, ""),
        ("b >=1.2", ON, None, ""),
        ("b >=2", ON, OFF, "it requires the module b >=2, which is version 1.3.0"),
        ("b", OFF, OFF, "it requires the module b, which is off: told so"),
        ("b >=1.2", UNDECIDED, UNDECIDED, "it requires the module b >=1.2, which is undecided: told so"),
        ("gone", ON, OFF, "it requires the module gone, which is not there"),
        ("unversioned >=1", ON, OFF, "whose version cannot be read: '' is no version"),
        ("unversioned", ON, None, ""),
    ],
)
def test_a_required_module_must_be_on_and_of_the_right_version(
    needs: str, version: Choice, choice: Choice | None, told: str
) -> None:
    b = module("b", 1, requiring(version="1.3.0"))
    known = {"b": b, "unversioned": module("unversioned")}
    decided = {name: Decision(version, CONFIG, "told so") for name in known}
    decision = unmet(module("a", 1, requiring(needs)), decided, known, "")
    assert (decision.choice, decision.by) == (choice, REQUIRES) if decision else choice is None
    assert told in (decision.reason if decision else "")


@each(
    ("wanted", "cluster", "choice"),
    [
        ("", "", None),
        (">=1.28", "v1.34.2+k3s1", None),
        (">=1.28", "v1.27.16-gke.100", OFF),
        (">=1.28", "", UNDECIDED),
        (">=1.28", "unknown", UNDECIDED),
    ],
)
def test_the_cluster_must_be_of_the_right_version(wanted: str, cluster: str, choice: Choice | None) -> None:
    decision = unmet(module("a", 1, requiring(kubernetes=wanted)), {}, {}, cluster)
    assert (decision and decision.choice) == choice


def test_a_certain_off_outweighs_an_unknown_requirement() -> None:
    known = {"b": module("b"), "c": module("c")}
    decided = {"b": Decision(UNDECIDED), "c": Decision(OFF)}
    for traits in (requiring("b", "c"), requiring("b", kubernetes="<1.2")):
        decision = unmet(module("a", 1, traits), decided, known, "1.34")
        assert decision
        assert decision.choice is OFF


def test_a_flag_that_cannot_be_read_turns_nothing_off() -> None:
    """A slip such as `aEnabled: "True"` would uninstall the module."""
    bad = Facts(invalid={KEY: "must be 'true' or 'false'"}, unread=frozenset({KEY}))
    assert uncertain(A, flagged(A, EXTENDERS, bad), bad) == Decision(UNDECIDED, "", "must be 'true' or 'false'")
