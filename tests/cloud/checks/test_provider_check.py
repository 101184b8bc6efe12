"""`cloud check` finds nothing in a provider that keeps all rules, and each way to break one by its own message.

Level: pure."""

import json
import re
from pathlib import Path
from typing import Any, ClassVar

from hookrunner.cloud.checks.probe import Printed, Probe
from hookrunner.cloud.checks.provider_check import CheckOptions, RuleOutcome, RuleStatus, check_provider
from tests.cloud.checks.sample_provider import MACHINES, PREFIX, SampleProvider, nodes_of
from tests.tables import each

SECRET = "correct-horse-battery-staple"


async def checked(provider: SampleProvider, *, nodes: bool = True, writes: bool = True) -> list[RuleOutcome]:
    options = CheckOptions(
        tuple(nodes_of(list(MACHINES))) if nodes else (), writes, lambda text: text.replace(SECRET, "***")
    )
    return [outcome async for outcome in check_provider(Probe(provider, "kubernetes", 60.0), options)]


def wrong(outcomes: list[RuleOutcome]) -> dict[str, tuple[str, ...]]:
    return {
        outcome.rule: outcome.texts
        for outcome in outcomes
        if outcome.status in (RuleStatus.BROKEN, RuleStatus.DOUBTFUL)
    }


async def test_a_provider_that_keeps_all_rules_has_nothing_wrong() -> None:
    outcomes = await checked(SampleProvider())
    assert {outcome.rule: outcome.texts for outcome in outcomes if outcome.status is not RuleStatus.OK} == {}
    assert len({outcome.rule for outcome in outcomes}) == len(outcomes)


async def test_the_page_has_each_rule() -> None:
    page = (Path(__file__).parents[3] / "docs" / "shipped-providers.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+?) \|", page, re.MULTILINE)
    assert rows == [(outcome.rule, outcome.claim) for outcome in await checked(SampleProvider())]


async def test_what_cannot_be_checked_says_why() -> None:
    class Small(SampleProvider):
        offers: ClassVar = {"instances": True}
        serves = False

    outcomes = await checked(Small(), nodes=False, writes=False)
    skipped = {outcome.rule: outcome.texts[0] for outcome in outcomes if outcome.status is RuleStatus.SKIPPED}
    assert skipped["metadata"] == "needs names or files of Nodes (--node)"
    assert skipped["lb-life"] == "it does not offer loadBalancer"
    assert skipped["serve-answers"] == "it does not offer serve"
    assert wrong(outcomes) == {}


async def test_without_leave_to_write_nothing_is_written() -> None:
    class Locked(SampleProvider):
        def lb_ensure(self, params: Any) -> Any:
            raise AssertionError

        lb_update = lb_delete = routes_apply = lb_ensure

    assert wrong(await checked(Locked(), writes=False)) == {}


async def test_what_was_made_is_deleted_also_after_a_failure() -> None:
    class Forgetful(SampleProvider):
        def lb_get(self, params: Any) -> Any:
            return {"result": {"exists": False}}

        def routes_list(self, params: Any) -> Any:
            return {"result": {"routes": [{**route, "targetNode": "other"} for route in self.routes]}}

    provider = Forgetful()
    assert wrong(await checked(provider)).keys() == {"lb-life", "routes-life"}
    assert (provider.balancers, provider.routes) == ({}, [])


def changed(**entries: Any) -> type[SampleProvider]:
    """One whose entries of known machines say something else."""

    class Changed(SampleProvider):
        def instance(self, node: Any) -> Any:
            entry = super().instance(node)
            return {**entry, **entries} if entry["state"] == "running" else entry

    return Changed


def answering(verb: str, answer: Any) -> type[SampleProvider]:
    """One that always gives this answer to a verb."""

    class Stubborn(SampleProvider):
        def answer(self, asked: str, request: Any) -> Any:
            return answer if asked == verb else super().answer(asked, request)

    return Stubborn


class Forgets(SampleProvider):
    def instances(self, params: Any) -> Any:
        return {"result": {"instances": [self.instance(node) for node in params["nodes"][:100]]}}


class Doubles(SampleProvider):
    def instances(self, params: Any) -> Any:
        return {"result": {"instances": [self.instance(node) for node in params["nodes"]] * 2}}


class AddsStrangers(SampleProvider):
    def instances(self, params: Any) -> Any:
        known = [self.instance({"name": name, "providerID": ""}) for name in MACHINES]
        names = [entry["name"] for entry in known]
        return {
            "result": {"instances": [*known, *(self.instance(n) for n in params["nodes"] if n["name"] not in names)]}
        }


class KnowsAll(SampleProvider):
    def find(self, node: Any) -> str:
        return MACHINES.get(node["name"], "m-1")


class LooksForNamesOnly(SampleProvider):
    def find(self, node: Any) -> str:
        return MACHINES.get(node["name"], "")


class CallsForeignNodesGone(SampleProvider):
    def instance(self, node: Any) -> Any:
        entry = super().instance(node)
        return {**entry, "state": "notFound" if entry["state"] == "skip" else entry["state"]}


class FailsAtUnknownIds(SampleProvider):
    def instances(self, params: Any) -> Any:
        if any(node["providerID"] and not self.find(node) for node in params["nodes"]):
            return {"error": {"code": "Unavailable", "message": "404 from the cloud"}}
        return super().instances(params)


class ReliesOnOrder(SampleProvider):
    def instances(self, params: Any) -> Any:
        entries = [self.instance(node) for node in params["nodes"]]
        return {
            "result": {"instances": [{**entry, "state": "unknown"} if i else entry for i, entry in enumerate(entries)]}
        }


class WavesItsHands(SampleProvider):
    calls = 0

    def capabilities(self, params: Any) -> Any:
        self.calls += 1
        limits = {"maxBatch": 100 + self.calls}
        return {"result": {**super().capabilities(params)["result"], "limits": limits}}


class HandsOutAddresses(SampleProvider):
    calls = 0

    def lb_ensure(self, params: Any) -> Any:
        self.calls += 1
        super().lb_ensure(params)
        return {"result": {"status": {"ingress": [{"ip": f"192.0.2.{self.calls}"}]}}}


class KeepsBalancers(SampleProvider):
    def lb_delete(self, params: Any) -> Any:
        return {"result": {}}


class ListsTwice(SampleProvider):
    def lb_list(self, params: Any) -> Any:
        return {"result": {"loadBalancers": super().lb_list(params)["result"]["loadBalancers"] * 2}}


class DeletesOnce(SampleProvider):
    def lb_delete(self, params: Any) -> Any:
        if params["name"] not in self.balancers:
            return {"error": {"code": "Invalid", "message": "404 from the cloud"}}
        return super().lb_delete(params)


class HasNoHost(SampleProvider):
    def status(self, params: Any) -> Any:
        return {"ingress": [{"ip": "lb.example.com"}]}


class MakesRoutesTwice(SampleProvider):
    def routes_apply(self, params: Any) -> Any:
        self.routes += [{**route, "name": str(len(self.routes))} for route in params["create"]]
        return {
            "result": {
                "create": [{"ok": True}] * len(params["create"]),
                "delete": [{"ok": True}] * len(params["delete"]),
            }
        }


class AnswersOneRoute(SampleProvider):
    def routes_apply(self, params: Any) -> Any:
        super().routes_apply(params)
        return {"result": {"create": [], "delete": []}}


class ServesNoise(SampleProvider):
    def answer_line(self, request: Any) -> bytes:
        return b"serving\n" + super().answer_line(request)


class ServesOnce(SampleProvider):
    async def run(self, argument: str, given: bytes, timeout: float) -> Printed:
        return await super().run(argument, given.splitlines()[0] if argument == "serve" else given, timeout)


class ServesWithoutEnd(SampleProvider):
    async def run(self, argument: str, given: bytes, timeout: float) -> Printed:
        printed = await super().run(argument, given, timeout)
        return printed._replace(timed_out=True) if argument == "serve" else printed


class ExitsAtUnknownVerbs(SampleProvider):
    async def run(self, argument: str, given: bytes, timeout: float) -> Printed:
        printed = await super().run(argument, given, timeout)
        return printed if argument != "hookrunner-check" else Printed(b"", "usage: …", "exit status 2")


def spoiling(**changes: Any) -> SampleProvider:
    return SampleProvider(lambda printed: printed._replace(**changes))


def printing(before: bytes = b"", after: bytes = b"") -> SampleProvider:
    return SampleProvider(lambda printed: printed._replace(stdout=before + printed.stdout + after))


def replacing(old: bytes, new: bytes) -> SampleProvider:
    return SampleProvider(lambda printed: printed._replace(stdout=printed.stdout.replace(old, new)))


BROKEN: dict[str, tuple[SampleProvider, str, str]] = {
    "prints nothing": (spoiling(stdout=b""), "one-document", "it printed nothing on standard output"),
    "prints usage": (spoiling(stdout=b"usage: my-cloud VERB"), "one-document", "is not JSON: 'usage: my-cloud VERB'"),
    "prints colours": (printing(b"\x1b[32mok\x1b[0m\n"), "one-document", "colours or other escape sequences"),
    "logs to standard output": (printing(b"connecting\n"), "one-document", "'connecting' stands before the JSON"),
    "prints two documents": (printing(after=b'\n{"a": 1}'), "one-document", "stands behind the JSON document"),
    "prints a byte-order mark": (printing(b"\xef\xbb\xbf"), "one-document", "byte-order mark"),
    "prints Latin-1": (replacing(b"zone-a", b"z\xf6ne"), "one-document", "is not UTF-8: byte 0xf6"),
    "prints half": (SampleProvider(lambda p: p._replace(stdout=p.stdout[:-9])), "one-document", "ends too early"),
    "prints 17 MiB": (printing(after=b" " * (17 << 20)), "one-document", "more than 2 MiB"),
    "nests deeply": (spoiling(stdout=b'{"result":' + b"[" * 9999 + b"]" * 9999 + b"}"), "one-document", "JSON"),
    "prints a list": (spoiling(stdout=b"[]"), "one-document", "must be one JSON object"),
    "says a key twice": (
        replacing(b'{"requestID"', b'{"error": 1, "error": 2, "requestID"'),
        "one-document",
        "stands twice",
    ),
    "exits with 3": (spoiling(ending="exit status 3"), "exit-code", "ended with exit status 3; exit code 0 belongs"),
    "hangs": (spoiling(timed_out=True), "deadline", "had not ended after 60 s"),
    "answers another request": (replacing(b'"requestID": "', b'"requestID": "x'), "request-id", "another 'requestID'"),
    "is of another version": (
        replacing(b'{"requestID"', b'{"apiVersion": "v9", "requestID"'),
        "api-version",
        "'apiVersion'",
    ),
    "answers both": (replacing(b'"result"', b'"error": {}, "result"'), "result-or-error", "and has both"),
    "answers neither": (replacing(b'"result"', b'"results"'), "result-or-error", "and has neither"),
    "answers with a text": (answering("instances", {"result": "ok"})(), "result", "must be an object"),
    "makes up a code": (
        answering("lb-get", {"error": {"code": "Oops", "message": "no"}})(),
        "error-code",
        "error code 'Oops': no (unknown code Oops)",
    ),
    "leaves a child": (spoiling(left_behind=("sleep",)), "left-behind", "left sleep running"),
    "logs its token": (
        spoiling(stderr=f"GET /?token={SECRET}"),
        "secrets",
        "a secret of its environment on standard error",
    ),
    "misspells": (replacing(b'"instanceType"', b'"instancetype"'), "spelling", "did you mean 'instanceType'?"),
    "has numbers for texts": (changed(zone=7)(), "schema", "result.instances[0].zone must be of type string"),
    "has no name": (answering("capabilities", {"result": {}})(), "capabilities", "'providerName' is required"),
    "has a prefix without scheme": (
        answering("capabilities", {"result": {"providerName": "a", "providerIDPrefixes": ["a"]}})(),
        "capabilities",
        "'providerIDPrefixes' must be texts with a scheme like a://",
    ),
    "offers nothing": (answering("capabilities", {"result": {"providerName": "a"}})(), "some-interface", "none of"),
    "changes its mind": (WavesItsHands(), "stable", "asked again, it answers something else: limits"),
    "promises too much": (
        answering("routes-list", {"error": {"code": "NotImplemented", "message": "soon"}})(),
        "kept-promises",
        "'interfaces.routes' is true, but routes-list fails: NotImplemented: soon",
    ),
    "exits at a new verb": (ExitsAtUnknownVerbs(), "unknown-verb", "ends with exit status 2; answer with the error"),
    "forgets Nodes": (Forgets(), "complete", "of 500 Nodes, 400 have no entry"),
    "answers twice": (Doubles(), "complete", "Nodes with several entries"),
    "answers about others": (AddsStrangers(), "no-nodes", "it must answer with an empty list"),
    "knows every id": (KnowsAll(), "made-up-id", "is running: look for the providerID before the name"),
    "knows every name": (KnowsAll(), "made-up-name", "the made-up Node"),
    "calls foreign Nodes gone": (CallsForeignNodesGone(), "made-up-name", "that it does not know is notFound"),
    "calls Nodes of other clouds gone": (CallsForeignNodesGone(), "foreign-id", "for a foreign Node answer skip"),
    "fails at an unknown id": (FailsAtUnknownIds(), "made-up-id", "fails the whole call, and with it all other Nodes"),
    "relies on the order": (ReliesOnOrder(), "order", "in another order of the Nodes"),
    "does not look for ids": (LooksForNamesOnly(), "by-id", "is not found by its id alone"),
    "has states of its own": (changed(state="ACTIVE")(), "known-node", "'state' must be one of running, shutdown"),
    "has no ids": (changed(providerID="")(), "known-node", "has no providerID, without which"),
    "has ids of another cloud": (changed(providerID="aws:///i-1")(), "metadata", f"does not begin with {PREFIX}"),
    "has zones with spaces": (changed(zone="zone a")(), "metadata", "zone 'zone a' is no value of a label"),
    "has invalid addresses": (
        changed(addresses=[{"type": "InternalIP", "address": "nowhere"}])(),
        "metadata",
        "'nowhere' of type 'InternalIP' is no IP address",
    ),
    "finds load balancers everywhere": (
        answering("lb-get", {"result": {"exists": True}})(),
        "lb-nothing",
        "never there",
    ),
    "cannot delete nothing": (DeletesOnce(), "lb-delete-nothing", "cannot be deleted: Invalid: 404"),
    "hands out new addresses": (
        HandsOutAddresses(),
        "lb-life",
        "ensured twice, it has other addresses: 192.0.2.1, then",
    ),
    "keeps load balancers": (KeepsBalancers(), "lb-life", "after lb-delete, lb-get still finds it"),
    "lists twice": (ListsTwice(), "lb-life", "lb-list shows it 2 times"),
    "has a name for an ip": (HasNoHost(), "lb-life", "the API server would refuse its address"),
    "has routes to nowhere": (
        answering("routes-list", {"result": {"routes": [{"name": "a", "destinationCIDR": "10.0.0/33"}]}})(),
        "routes-list",
        "'10.0.0/33' is no network",
    ),
    "makes routes twice": (MakesRoutesTwice(), "routes-life", "made twice, a route is in the list 2 times"),
    "answers to no route": (AnswersOneRoute(), "routes-life", "0 entries in 'create' for 1 in the request"),
    "serves noise": (ServesNoise(), "serve-answers", "a line of its output is no answer"),
    "serves one request": (ServesOnce(), "serve-answers", "of 5 requests, 4 were not answered before it left"),
    "serves without end": (ServesWithoutEnd(), "serve-answers", "has not left 5 s after the end of its input"),
}


@each("how", BROKEN)
async def test_each_mistake_is_found_by_its_own_message(how: str) -> None:
    provider, rule, message = BROKEN[how]
    found = wrong(await checked(provider))
    assert any(message in text for text in found.get(rule, ())), json.dumps(found, indent=1)


async def test_a_verb_has_the_time_that_the_provider_says() -> None:
    class Slow(SampleProvider):
        times: ClassVar[dict[str, float]] = {}

        def capabilities(self, params: Any) -> Any:
            limits = {"timeoutSeconds": {"lb-ensure": 600}}
            return {"result": {**super().capabilities(params)["result"], "limits": limits}}

        async def run(self, argument: str, given: bytes, timeout: float) -> Printed:
            self.times[argument] = timeout
            return await super().run(argument, given, timeout)

    await checked(Slow())
    assert (Slow.times["lb-ensure"], Slow.times["lb-get"]) == (600, 60)


async def test_no_question_is_larger_than_the_provider_takes() -> None:
    class Narrow(SampleProvider):
        def capabilities(self, params: Any) -> Any:
            return {"result": {**super().capabilities(params)["result"], "limits": {"maxBatch": 1}}}

        def instances(self, params: Any) -> Any:
            assert len(params["nodes"]) <= 1
            return super().instances(params)

    assert wrong(await checked(Narrow())) == {}


async def test_a_report_shows_no_secret() -> None:
    found = wrong(await checked(spoiling(stdout=f"GET /?token={SECRET}".encode())))
    assert "GET /?token=***" in found["one-document"][0]
    assert SECRET not in str(found)


async def test_a_provider_that_hangs_is_not_asked_for_an_hour() -> None:
    class Hangs(SampleProvider):
        asked = 0

        async def run(self, argument: str, given: bytes, timeout: float) -> Printed:
            self.asked += argument != "serve"
            printed = await super().run(argument, given, timeout)
            return printed if argument in ("capabilities", "serve") else Printed(b"", timed_out=True)

    provider = Hangs()
    await checked(provider)
    assert provider.asked < 10
