"""The next step for an object: which process may write, what is kept, when it is in sync; and that a step which is
overtaken by another client changes nothing.

Level: sandbox."""

import copy
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from hookrunner.model.bindings import Admission, ConversionBinding
from hookrunner.registration.desired import Target, desired_registrations
from hookrunner.registration.reconcile import (
    GENERATION,
    WANTED,
    Claim,
    InSync,
    LostRace,
    WriteStep,
    Yielded,
    claim,
    next_step,
    take_step,
)
from hookrunner.registration.webhook_objects import (
    CONVERSION,
    MANAGED_BY,
    VALIDATING,
    Registration,
    TrustedCertificates,
    registrations,
)
from tests.fakes.second_writer import OvertakenClient, once, overtaken_client
from tests.kube.server import ApiServer, api_server
from tests.registration.world import a_hook
from tests.tables import each

JSON = Any
TARGET = Target("", "ns", "svc")
OLD, NEW = claim(1.0), claim(1e9)
IDENTITY = {"uid": "u", "resourceVersion": "7"}


def validating(*names: str, incomplete: bool = False) -> Registration:
    hook = a_hook("h", validating=tuple(Admission(name) for name in names))
    return registrations(desired_registrations([hook], "hooks", TARGET, TARGET, incomplete))[0]


def converting() -> Registration:
    hook = a_hook("h", conversions=(ConversionBinding("c", "things.example.com", ()),))
    return registrations(desired_registrations([hook], "hooks", TARGET, TARGET))[2]


def written(registration: Registration, existing: JSON = None, by: Claim = OLD) -> JSON:
    """What the next step writes, as it stands in the cluster then."""
    found = next_step(registration, existing, TrustedCertificates(), by)
    assert isinstance(found, WriteStep)
    assert found.method == ("PUT" if existing else "POST")
    return found.body | {"metadata": found.body["metadata"] | IDENTITY}


def names(obj: JSON) -> list[str]:
    return [entry["name"] for entry in obj["webhooks"]]


def test_object_in_sync_is_not_written() -> None:
    assert next_step(validating("a.b.c"), written(validating("a.b.c")), TrustedCertificates(), NEW) == InSync(True)
    assert next_step(validating(), None, TrustedCertificates(), NEW) == InSync(False)
    assert next_step(converting(), None, TrustedCertificates(), NEW) == InSync(False)


def test_older_process_does_not_overwrite_a_younger_one() -> None:
    by_new = written(validating("a.b.c"), by=NEW)
    assert next_step(validating("d.e.f"), by_new, TrustedCertificates(), OLD) == Yielded("2001-09-09T01:46:40.000000Z")
    assert names(written(validating("d.e.f"), written(validating("a.b.c")), NEW)) == ["d.e.f"]


def test_process_replaces_its_own_earlier_state() -> None:
    existing = written(validating("a.b.c"), by=NEW)
    assert names(written(validating("a.b.c", "d.e.f"), existing, NEW)) == ["a.b.c", "d.e.f"]


def test_repair_by_an_older_replica_keeps_the_younger_generation() -> None:
    wrong = copy.deepcopy(written(validating("a.b.c"), by=NEW))
    wrong["webhooks"][0]["failurePolicy"] = "Ignore"
    repaired = written(validating("a.b.c"), wrong, OLD)
    assert repaired == written(validating("a.b.c"), by=NEW)


def test_a_person_may_always_remove() -> None:
    existing = written(validating("a.b.c"), by=NEW)
    assert next_step(validating(), existing, TrustedCertificates(), Claim("", by_hand=True)) == WriteStep(
        "DELETE", existing
    )


def test_an_entry_keeps_what_newer_servers_put_there() -> None:
    newer = copy.deepcopy(written(validating("a.b.c")))
    newer["webhooks"][0]["invented"] = {"later": True}
    assert next_step(validating("a.b.c"), newer, TrustedCertificates(), NEW) == InSync(True)


def foreign(name: str, **client: JSON) -> JSON:
    return {"name": name, "clientConfig": client or {"url": "https://elsewhere/hooks/a"}}


OURS = {"namespace": "ns", "name": "svc", "path": "/hooks/old"}


@each(
    ("entry", "stays"),
    [
        (foreign("other"), True),
        (foreign("old", service=OURS), False),
        (foreign("old", service=OURS | {"path": "/healthz"}), True),
        (foreign("old", service=OURS | {"namespace": "elsewhere"}), True),
    ],
)
@each("incomplete", [True, False])
def test_own_entries_are_removed_only_if_all_hooks_are_known(entry: JSON, stays: bool, incomplete: bool) -> None:
    existing = {"metadata": {"name": "hooks"} | IDENTITY, "webhooks": [entry]}
    kept = [entry["name"]] if stays or incomplete else []
    assert names(written(validating("a.b.c", incomplete=incomplete), existing)) == [*kept, "a.b.c"]


@each(("sure", "left"), [(set(), ["m.a.b.c", "d.e.f"]), ({"m"}, ["d.e.f"]), ({"", "o"}, ["m.a.b.c"])])
def test_certain_entries_are_removed_and_doubtful_ones_stay(sure: set[str], left: list[str]) -> None:
    """By whose hook it was asked for: a module's, or one of none."""
    hooks = [a_hook("m/h", "m", validating=(Admission("a.b.c"),)), a_hook("n", validating=(Admission("d.e.f"),))]
    existing = written(registrations(desired_registrations(hooks, "hooks", TARGET, TARGET))[0])
    doubt = replace(desired_registrations([], "hooks", TARGET, TARGET, incomplete=True), sure=frozenset(sure))
    assert names(step_body(registrations(doubt)[0], existing)) == left


def step_body(registration: Registration, existing: JSON) -> JSON:
    """The object after the next step, which may be none."""
    found = next_step(registration, existing, TrustedCertificates(), NEW)
    return found.body if isinstance(found, WriteStep) else existing


def test_our_entries_stay_among_those_of_others() -> None:
    existing = written(validating("a.b.c", "d.e.f"))
    first, last = existing["webhooks"]
    existing |= {"webhooks": [foreign("x"), last, foreign("y"), first, foreign("z")]}
    merged = names(written(validating("a.b.c", "d.e.f", "g.h.i"), existing, NEW))
    assert merged == ["x", "a.b.c", "y", "d.e.f", "z", "g.h.i"]


def test_an_object_that_others_made_is_emptied_and_not_deleted() -> None:
    helm = {MANAGED_BY: "Helm"}
    existing = {"metadata": {"name": "hooks", "labels": helm} | IDENTITY, "webhooks": []}
    with_ours = written(validating("a.b.c"), existing)
    assert with_ours["metadata"]["labels"] == helm
    assert written(validating(), with_ours, NEW) == existing


def definition_converted_by(**conversion: JSON) -> JSON:
    metadata = {"name": "things.example.com", "labels": {"a": "b"}} | IDENTITY
    return {"metadata": metadata, "spec": {"group": "example.com", "conversion": conversion}}


@each(
    "before",
    [
        {},
        {"strategy": "None"},
        {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://elsewhere"}}},
    ],
)
def test_a_conversion_is_replaced_whole_and_nothing_else(before: JSON) -> None:
    after = written(converting(), definition_converted_by(**before))
    client = after["spec"]["conversion"]["webhook"]["clientConfig"]
    assert client == {"service": OURS | {"path": "/things.example.com", "port": 443}}
    assert after["spec"]["group"] == "example.com"
    assert after["metadata"]["labels"] == {"a": "b", CONVERSION: "hookrunner"}


def test_the_predecessors_conversion_becomes_ours_without_a_change() -> None:
    theirs = definition_converted_by(**written(converting(), definition_converted_by())["spec"]["conversion"])
    after = written(converting(), theirs)
    assert after["spec"] == theirs["spec"]
    assert after["metadata"]["annotations"].keys() == {GENERATION, WANTED}


def clear(place: JSON) -> None:
    place.clear()


@each("edit", [lambda obj: obj["spec"].pop("conversion"), lambda obj: clear(obj["spec"])])
def test_a_definition_without_a_conversion_is_read(edit: Callable[[JSON], object]) -> None:
    bare = definition_converted_by()
    edit(bare)
    assert written(converting(), bare)["spec"]["conversion"]["strategy"] == "Webhook"


@asynccontextmanager
async def registered() -> AsyncIterator[tuple[OvertakenClient, ApiServer, JSON]]:
    """A client that another is quicker than, and our configuration as it is in the cluster."""
    async with api_server() as api, overtaken_client(api.url) as client:
        step, _ = await take_step(client, validating("a.b.c"), TrustedCertificates(), OLD)
        assert isinstance(step, WriteStep)
        yield client, api, api.get(step.body | {"apiVersion": VALIDATING.api_version, "kind": VALIDATING.kind})


def with_another(live: JSON) -> JSON:
    """The configuration with a webhook of another client."""
    theirs = live["webhooks"][0] | foreign("their.web.hook")
    return live | {"webhooks": [*live["webhooks"], theirs]}


async def test_configuration_that_another_client_has_just_edited_is_not_deleted() -> None:
    async with registered() as (client, api, live):
        client.before_write = once("DELETE", lambda: api.put(with_another(live)))
        assert (await take_step(client, validating(), TrustedCertificates(), NEW))[0] == LostRace()
        assert names(api.get(live)) == ["a.b.c", "their.web.hook"]


async def test_configuration_that_another_client_has_just_created_again_is_not_deleted() -> None:
    async with registered() as (client, api, live):

        def create_again() -> None:
            api.delete(live)
            api.put(live | {"metadata": {"name": live["metadata"]["name"]}})

        client.before_write = once("DELETE", create_again)
        assert (await take_step(client, validating(), TrustedCertificates(), NEW))[0] == LostRace()
        assert api.get(live)["metadata"]["uid"] != live["metadata"]["uid"]


async def test_configuration_that_another_client_has_just_edited_is_not_overwritten() -> None:
    async with registered() as (client, api, live):
        client.before_write = once("PUT", lambda: api.put(with_another(live)))
        assert (await take_step(client, validating("d.e.f"), TrustedCertificates(), NEW))[0] == LostRace()
        assert names(api.get(live)) == ["a.b.c", "their.web.hook"]
        await take_step(client, validating("d.e.f"), TrustedCertificates(), NEW)
        assert sorted(names(api.get(live))) == ["d.e.f", "their.web.hook"]
