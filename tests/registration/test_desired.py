"""From bindings to the desired registrations. Level: pure."""

from typing import Any

from hookrunner.model.bindings import Admission, ConversionBinding
from hookrunner.model.reviews import unit_of
from hookrunner.registration.desired import DesiredRegistrations, Target, desired_registrations
from tests.registration.world import a_hook
from tests.tables import each

URL = Target("https://host:9680/", "", "")
SERVICE = Target("", "ns", "svc")
NAMED = Admission("p.example.com")


def desired_of(*hooks: Any, target: Target = URL) -> DesiredRegistrations:
    return desired_registrations(hooks, "hooks", target, target)


def test_an_entry_has_every_field() -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    (entry,) = desired_of(a_hook("h", validating=(Admission("a.b.c", (rule,)),)), target=SERVICE).validating
    assert entry == {
        "name": "a.b.c",
        "clientConfig": {"service": {"namespace": "ns", "name": "svc", "path": "/hooks/a-b-c", "port": 443}},
        "rules": [rule | {"scope": "*"}],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "sideEffects": "None",
        "timeoutSeconds": 10,
        "admissionReviewVersions": ["v1", "v1beta1"],
    }


@each(("said", "found"), [("", "Never"), ("IfNeeded", "IfNeeded")])
def test_only_mutating_entries_may_be_invoked_again(said: str, found: str) -> None:
    (entry,) = desired_of(a_hook("h", mutating=(Admission("a.b.c", reinvocation_policy=said),))).mutating
    assert entry["reinvocationPolicy"] == found


def test_a_conversion_is_asked_for_once_however_many_hooks_have_steps_of_it() -> None:
    steps = [
        ConversionBinding("c", "things.example.com", (("v1", "v2"),)),
        ConversionBinding("d", "things.example.com", ()),
    ]
    conversions = desired_of(*(a_hook(step.name, conversions=(step,)) for step in steps)).conversions
    assert conversions == {
        "things.example.com": {
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {"url": "https://host:9680/things.example.com"},
                "conversionReviewVersions": ["v1", "v1beta1"],
            },
        }
    }


def test_entries_come_in_the_order_of_hooks_whatever_the_order_of_finding() -> None:
    hooks = [a_hook(name, validating=(Admission(f"{name}.b.c"), Admission(f"{name}.a.c"))) for name in "ba"]
    assert [entry["name"] for entry in desired_of(*hooks).validating] == ["a.b.c", "a.a.c", "b.b.c", "b.a.c"]
    assert desired_of(*hooks) == desired_of(*reversed(hooks))


@each("names", [("a.b.c", "a.b.c"), ("a.b-c", "a-b.c")])
def test_last_of_two_hooks_with_one_path_counts_and_the_clash_is_reported(names: tuple[str, str]) -> None:
    hooks = [a_hook(hook, validating=(Admission(name),)) for hook, name in zip(("1", "2"), names, strict=True)]
    found = desired_of(*hooks)
    assert [entry["name"] for entry in found.validating] == [names[1]]
    (clash,) = found.clashes
    assert clash == f"two webhooks have the path /hooks/a-b-c: hook '1' ({names[0]}), hook '2' ({names[1]}); " + (
        "rename one of them"
    )


def test_equal_names_in_two_modules_do_not_clash() -> None:
    hooks = [
        a_hook("a/h", "a", validating=(NAMED,)),
        a_hook("a-b/h", "a-b", validating=(NAMED,)),
        a_hook("h", "global"),
    ]
    wanted = desired_of(*hooks, a_hook("global/h", "global", validating=(NAMED,)))
    paths = {
        entry["name"]: entry["clientConfig"]["url"].removeprefix("https://host:9680") for entry in wanted.validating
    }
    assert paths == {
        "a.p.example.com": "/hooks/a/p-example-com",
        "a-b.p.example.com": "/hooks/a-b/p-example-com",
        "p.example.com": "/hooks/p-example-com",
    }
    assert [unit_of(path) for path in paths.values()] == ["a-b", "a", ""]
    assert wanted.clashes == ()


def test_equal_names_within_a_module_clash() -> None:
    (clash,) = desired_of(*(a_hook(f"a/{n}", "a", validating=(NAMED,)) for n in "hk")).clashes
    assert clash.startswith("two webhooks have the path /hooks/a/p-example-com: hook 'a/h'")


def test_both_kinds_of_webhook_share_their_paths() -> None:
    binding = Admission("a.b.c")
    found = desired_of(a_hook("h", validating=(binding,), mutating=(binding,)))
    assert (len(found.validating), len(found.mutating), len(found.clashes)) == (1, 1, 1)


@each(
    ("target", "client_config", "path"),
    [
        (URL, {"url": "https://host:9680/hooks/a"}, "/hooks/a"),
        (URL, {"url": "https://host:96801/hooks/a"}, ""),
        (URL, {"url": "https://host:9680"}, ""),
        (URL, {"service": {"namespace": "ns", "name": "svc", "path": "/hooks/a"}}, ""),
        (SERVICE, {"service": {"namespace": "ns", "name": "svc", "path": "/hooks/a"}}, "/hooks/a"),
        (SERVICE, {"service": {"namespace": "ns", "name": "svc"}}, ""),
        (SERVICE, {"service": {"namespace": "ns", "name": "other", "path": "/hooks/a"}}, ""),
        (SERVICE, {"url": "https://host:9680/hooks/a"}, ""),
        (SERVICE, {}, ""),
        (Target("", "", ""), {}, ""),
    ],
)
def test_client_config_that_leads_to_us_is_recognized(target: Target, client_config: Any, path: str) -> None:
    assert target.path(client_config) == path
