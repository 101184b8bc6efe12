"""Which kind of hook may have which lifecycle bindings. Their place in a run is for the engine. Level: pure."""

import pytest

from hookrunner.errors import BadHookConfig
from hookrunner.hooks.config.hook_config import parse
from hookrunner.hooks.config.schema import HookKind
from hookrunner.model.bindings import BindingType
from tests.tables import each

ALLOWED = {
    HookKind.PLAIN: [],
    HookKind.GLOBAL: ["beforeAll", "afterAll"],
    HookKind.MODULE: ["beforeHelm", "afterHelm", "beforeDeleteHelm", "afterDeleteHelm"],
}
CASES = [(kind, key) for kind in ALLOWED for keys in ALLOWED.values() for key in keys]
WEBHOOK = (
    "kubernetesValidating: [{name: a.example.com, rules: "
    "[{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}]"
)


def problem(text: str, kind: HookKind) -> str:
    with pytest.raises(BadHookConfig) as error:
        parse("hook", text.encode(), kind)
    return error.value.problems[0]


@each("version", ["", "configVersion: v1\n"])
@each(("kind", "key"), [case for case in CASES if case[1] in ALLOWED[case[0]]])
def test_a_lifecycle_binding_is_a_number_in_both_versions(kind: HookKind, key: str, version: str) -> None:
    config = parse("hook", f"{version}{key}: 10".encode(), kind)
    assert (config.lifecycle, config.on_startup) == ({BindingType(key): 10}, None)


@each("version", ["", "configVersion: v1\n"])
@each(("kind", "key"), [case for case in CASES if case[1] not in ALLOWED[case[0]]])
def test_elsewhere_it_is_forbidden_and_the_message_says_where_it_belongs(
    kind: HookKind, key: str, version: str
) -> None:
    (owner,) = (other for other, keys in ALLOWED.items() if key in keys)
    expected = f"{key} is a forbidden property; only {owner.value}, can have it"
    assert problem(f"{version}{key}: 10", kind) == expected


@each("kind", [HookKind.GLOBAL, HookKind.MODULE])
@each(("number", "fragment"), [("-1", "must be at least 0"), ("1.5", "integer"), ("'1'", "integer")])
def test_its_number_is_whole_and_not_negative(kind: HookKind, number: str, fragment: str) -> None:
    key = ALLOWED[kind][0]
    text = problem(f"configVersion: v1\n{key}: {number}", kind)
    assert text.startswith(f"{key} must be")
    assert fragment in text


@each("kind", ALLOWED)
def test_all_other_bindings_are_for_all_hooks(kind: HookKind) -> None:
    own = "settings: {timeout: 1m}"
    text = f"configVersion: v1\nonStartup: -1\nschedule: [{{crontab: '* * * * *'}}]\n{WEBHOOK}\n{own}\n"
    config = parse("hook", text.encode(), kind)
    assert (config.on_startup, len(config.schedules), sorted(config.reviews)) == (-1, 1, ["admission"])
    assert config.settings.timeout == 60


@each("kind", HookKind)
def test_a_configuration_of_a_version_alone_is_refused(kind: HookKind) -> None:
    assert "should have at least 2 properties" in problem("configVersion: v1", kind)


@each("key", ["kubernetesValidating", "kubernetesMutating", "kubernetesCustomResourceConversion"])
def test_a_hook_of_an_addon_is_one_of_a_module_without_webhooks(key: str) -> None:
    parsed = parse("hook", b"configVersion: v1\nbeforeHelm: 1\nonStartup: 1", HookKind.of("dns", of_addon=True))
    assert parsed.lifecycle == {BindingType.BEFORE_HELM: 1}
    expected = f"{key} is a forbidden property; hooks of addons answer no webhooks; write a module for it"
    assert problem(f"configVersion: v1\n{key}: [{{}}]", HookKind.ADDON) == expected


@each(("module", "kind"), [("", HookKind.PLAIN), ("global", HookKind.GLOBAL), ("globals", HookKind.MODULE)])
def test_the_kind_is_that_of_the_module(module: str, kind: HookKind) -> None:
    assert HookKind.of(module) is kind


def test_a_misspelt_lifecycle_binding_is_suggested() -> None:
    assert "did you mean 'beforeHelm'?" in problem("configVersion: v1\nbeforehelm: 1", HookKind.MODULE)
