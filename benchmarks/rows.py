"""The rows of the first table of docs/benchmarks.md: which figure of which scenario, and its target."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import scenarios
from benchmarks.cloud import cloud_nodes, cloud_services
from benchmarks.modules import memory, modules
from benchmarks.outage import outage
from benchmarks.python_hooks import python
from benchmarks.resident_hooks import fast_events, lanes
from benchmarks.row import Row, Target, Unit
from benchmarks.sandbox import sandbox
from benchmarks.scenarios import Scenario
from benchmarks.steady_load import lag, soak
from benchmarks.webhooks import conversion, resident_reviews, reviews


@dataclass(frozen=True, slots=True)
class Group:
    """The rows that one scenario gives; `--only` takes its name. `rounds` is the most that it is worth repeating.

    `ours`: there is nothing like it in other programs. Those of `addons` have another hookrunner beside them, if any.
    """

    name: str
    scenario: Scenario
    rows: tuple[Row, ...]
    rounds: int = 5
    ours: bool = False


def _p99(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[98]


def _growth(values: Sequence[float]) -> float:
    """From the samples after the first fifth to the last ones."""
    fifth = len(values) // 5
    return min(values[-fifth:]) - min(values[fifth : 2 * fifth])


def _started(work: str, seconds: float, memory: float) -> tuple[Row, ...]:
    """The rows of a start on many objects, with the ratios to be reached."""
    return (
        Row(f"start → Synchronization has run, {work}", "start", Unit.SECONDS, Target(ratio=seconds)),
        Row(f"resident memory then, {work}", "memory", Unit.MEGABYTES, Target(ratio=memory)),
        Row("the same, shared pages counted once (PSS)", "fair", Unit.MEGABYTES),
    )


_EVENTS = (
    Row("write sent → hook's first line, p50", "sent", Unit.MILLISECONDS, Target(limit=0.012)),
    Row("write sent → hook's first line, max", "sent", Unit.MILLISECONDS, Target(limit=0.040), max),
    Row("write answered → hook's first line, p50", "answered", Unit.MILLISECONDS),
)
_BURST = (
    Row("1,000 objects created → last one handled", "handled", Unit.SECONDS, Target(ratio=1.05)),
    Row("the creation itself", "created", Unit.SECONDS),
    Row("last creation answered → last one handled", "left", Unit.MILLISECONDS, Target(ratio=1.0)),
)
_STARTS = (
    Row("hook runs one after another (200 startup hooks)", "rate", Unit.RATE, Target(ratio=1.05, more=True)),
    Row("the same, by a bare loop just before", "to_bare", Unit.TIMES, Target(limit=0.9, more=True)),
    Row("200 --config calls at start", "configs", Unit.MILLISECONDS, Target(ratio=0.8)),
    Row("start → first of 200 hooks", "first", Unit.SECONDS, Target(ratio=1.0)),
)
_FEW = (Row("start → first of four hooks", "first", Unit.SECONDS, Target(limit=0.3)),)
_IDLE = (
    Row("resident memory with nothing to watch", "memory", Unit.MEGABYTES, Target(ratio=1.3)),
    Row("the same, shared pages counted once (PSS)", "fair", Unit.MEGABYTES),
    Row("CPU time with nothing to do, of one core", "cpu", Unit.PERCENT, Target(ratio=1.0)),
)
_SANDBOX = (
    Row("`start --sandbox` → first hook run", "run", Unit.SECONDS, Target(limit=1.5)),
    Row("the same, by a Python that only imports the libraries", "times", Unit.TIMES, Target(limit=3)),
    Row("that Python", "bare", Unit.SECONDS),
    Row("CPU time until then", "cpu", Unit.SECONDS),
    Row("`sandbox` → it can be used", "ready", Unit.SECONDS),
    Row("its resident memory, 10,000 objects, a watcher", "memory", Unit.MEGABYTES, Target(limit=150e6)),
    Row("write sent → answered by it, p50", "create", Unit.MILLISECONDS),
    Row("write sent → told to its watcher, p50", "watch", Unit.MILLISECONDS),
    Row("its list of 10,000", "list", Unit.SECONDS),
)
_PYTHON = (
    Row("a run of an unmodified Python hook, p50", "forked", Unit.MILLISECONDS),
    Row("the same by an interpreter of its own", "own", Unit.MILLISECONDS),
    Row("`bash -c :` by the same code", "bash", Unit.MILLISECONDS),
    Row("ratio to `bash -c :`", "to_bash", Unit.TIMES, Target(limit=3)),
    Row("ratio to an interpreter of its own", "to_own", Unit.TIMES, Target(limit=0.15)),
    Row("CPU time of a run", "cpu", Unit.MILLISECONDS),
    Row("ratio to an interpreter of its own", "cpu_to_own", Unit.TIMES, Target(limit=0.15)),
    Row("resident memory with 30 idle Python hooks", "idle", Unit.MEGABYTES),
    Row("the same with `--python-fork=false`", "idle_own", Unit.MEGABYTES),
    Row("above 1.1 times that", "idle_more", Unit.MEGABYTES, Target(limit=15e6)),
    Row("runs of a trivial resident hook, one process", "resident", Unit.RATE, Target(limit=2000, more=True)),
)
_FAST = (
    Row("write answered → resident hook's first line, p50", "hookrunner", Unit.MILLISECONDS),
    Row("the same, p99", "hookrunner", Unit.MILLISECONDS, summary=_p99),
    Row("kopf's handler, p50", "kopf", Unit.MILLISECONDS),
    Row("the same, p99", "kopf", Unit.MILLISECONDS, summary=_p99),
    Row("ratio of p50", "ratio", Unit.TIMES, Target(limit=1.5)),
    Row("ratio of p99", "worst_ratio", Unit.TIMES, Target(limit=1)),
)
_LANES = (
    Row("100 objects, 0.1 s for each, 20 at once: first write → all done", "done", Unit.SECONDS, Target(limit=0.7)),
    Row("the creation itself", "created", Unit.SECONDS),
)
_LAG = (
    Row("`/healthz`, 500 events a second with filters, p50", "busy", Unit.MILLISECONDS),
    Row("the same, p99", "busy", Unit.MILLISECONDS, summary=_p99),
    Row("a server that does nothing else, in the same moments, p99", "bare", Unit.MILLISECONDS, summary=_p99),
    Row("difference: the event loop's lag, p99", "lag", Unit.MILLISECONDS, Target(limit=0.010)),
    Row("with nothing to do, p99", "idle", Unit.MILLISECONDS, summary=_p99),
    Row("events a second", "rate", Unit.RATE, Target(limit=450, more=True)),
)
_SOAK = (
    Row("growth of memory in a long run by all carriers", "memory", Unit.MEGABYTES, Target(limit=0.5e6), _growth),
    Row("of descriptors", "descriptors", Unit.COUNT, Target(limit=0), _growth),
    Row("of processes", "processes", Unit.COUNT, Target(limit=0), _growth),
    Row("runs a second", "rate", Unit.RATE, Target(limit=95, more=True)),
)
_REVIEWS = (
    Row("admission review above its hook in bash, 50 a second, p50", "cost", Unit.MILLISECONDS, Target(limit=0.003)),
    Row(
        "admission review above its hook in bash, 50 a second, p99",
        "cost",
        Unit.MILLISECONDS,
        Target(limit=0.010),
        _p99,
    ),
    Row("of which HTTPS and the client: GET /healthz, p50", "https", Unit.MILLISECONDS),
    Row("the hook alone, p50", "alone", Unit.MILLISECONDS),
    Row("the hook alone, p99", "alone", Unit.MILLISECONDS, summary=_p99),
)
_RESIDENT_REVIEWS = (
    Row("admission review above its resident hook, 50 a second, p50", "cost_50", Unit.MILLISECONDS, Target(0.001)),
    Row("the same, p99", "cost_50", Unit.MILLISECONDS, Target(0.004), _p99),
    Row("of which HTTPS and the client: GET /healthz, p50", "https_50", Unit.MILLISECONDS),
    Row("the same, p99", "https_50", Unit.MILLISECONDS, summary=_p99),
    Row("the review above its hook, 500 a second, p50", "cost_500", Unit.MILLISECONDS, Target(0.001)),
    Row("the same, p99", "cost_500", Unit.MILLISECONDS, Target(0.004), _p99),
    Row("of which HTTPS and the client, p50", "https_500", Unit.MILLISECONDS),
    Row("the same, p99", "https_500", Unit.MILLISECONDS, summary=_p99),
    Row("the hook alone, p50", "alone", Unit.MILLISECONDS),
)
_CONVERSION = (
    Row("5,000 objects of 1 KB converted, above the hook", "cost", Unit.SECONDS),
    Row("the hook itself: one jq", "hook", Unit.SECONDS),
    Row("memory at most, above idle, by the size of the request", "memory", Unit.TIMES),
)
_OUTAGE = (
    Row("API server ready after 40 s away, history gone → hook told by 10 watches", "few", Unit.SECONDS, Target(3.0)),
    Row("the same with 200 watches", "many", Unit.SECONDS, Target(limit=3.0)),
    Row("a bare client opens 200 watches, a moment later", "bare", Unit.SECONDS),
)
_MODULES = (
    Row("29 modules, 249 objects, from nothing → afterAll", "cold", Unit.SECONDS, Target(limit=2.5)),
    Row("CPU time until then, without hooks", "cold_cpu", Unit.SECONDS),
    Row("restart, nothing to do → afterAll", "restart", Unit.SECONDS, Target(limit=1.2)),
    Row("CPU time until then, without hooks", "restart_cpu", Unit.SECONDS),
    Row("one module's value changed → its object changed, p50", "one", Unit.MILLISECONDS, Target(limit=0.15)),
    Row("the same, max", "one", Unit.MILLISECONDS, summary=max),
    Row("a global value changed → an object of all 29 changed", "all", Unit.SECONDS, Target(limit=0.6)),
    Row("the same → afterAll", "settled", Unit.SECONDS),
)
_MODULES_MEMORY = (
    Row("resident memory, all children ended", "quiet", Unit.MEGABYTES, Target(ratio=0.8)),
    Row("resident memory before that", "busy", Unit.MEGABYTES),
    Row("the same, shared pages counted once (PSS)", "busy_fair", Unit.MEGABYTES),
)
GROUPS = (
    Group("events", scenarios.events, _EVENTS),
    Group("full", scenarios.full, _started("10,000 full objects", 0.7, 0.5)),
    Group("filtered", scenarios.filtered, _started("10,000 filtered", 0.7, 0.35)),
    Group("many", scenarios.filtered_many, _started("50,000 filtered", 0.6, 0.2), rounds=1),
    Group("idle", scenarios.idle, _IDLE, rounds=2),
    Group("burst", scenarios.burst, _BURST),
    Group("starts", scenarios.starts, _STARTS),
    Group("few", scenarios.few, _FEW),
    Group("sandbox", sandbox, _SANDBOX, ours=True),
    Group("python", python, _PYTHON, rounds=2, ours=True),
    Group("fast", fast_events, _FAST, ours=True),
    Group("lanes", lanes, _LANES, ours=True),
    Group("lag", lag, _LAG, rounds=2, ours=True),
    Group("reviews", reviews, _REVIEWS, ours=True),
    Group("resident-reviews", resident_reviews, _RESIDENT_REVIEWS, ours=True),
    Group("conversion", conversion, _CONVERSION, ours=True),
    Group("outage", outage, _OUTAGE, rounds=1, ours=True),
    Group("soak", soak, _SOAK, rounds=1, ours=True),
)

MODULES = (
    Group("modules", modules, _MODULES, rounds=2),
    Group("modules-memory", memory, _MODULES_MEMORY, rounds=1),
)
_CLOUD_MANY = (
    Row("500 new Nodes → all initialised: calls of the provider", "calls", Unit.COUNT, Target(ratio=0.05)),
    Row("the same: time, start of the manager included", "seconds", Unit.SECONDS, Target(ratio=0.25)),
)
_CLOUD_STEADY = (
    Row("500 Nodes, 5 not ready, addresses every 10 s: calls in a minute", "calls", Unit.COUNT, Target(ratio=0.02)),
)
_CLOUD_ONE = (
    Row("Node created → initialised, p50, a process for each call", "seconds", Unit.MILLISECONDS, Target(ratio=1.2)),
    Row("writes of it", "writes", Unit.COUNT, Target(ratio=1)),
)
_CLOUD_SERVED = (Row("the same with a provider that stays", "seconds", Unit.MILLISECONDS, Target(ratio=1)),)
_CLOUD_SERVICE = (
    Row("Service created → ingress, p50", "seconds", Unit.MILLISECONDS, Target(ratio=1.2)),
    Row("writes of it", "writes", Unit.COUNT, Target(ratio=1)),
)
_CLOUD_SERVICES = (
    Row("100 Services at once, each call 0.5 s → all have addresses", "seconds", Unit.SECONDS, Target(ratio=0.3)),
)
_CLOUD_MEMORY = (
    Row("resident memory with 5,000 Nodes of 15 KB and 500 Services", "memory", Unit.MEGABYTES, Target(ratio=0.6)),
)
_CLOUD_IDLE = (
    Row("500 Nodes, ten heartbeats a second: CPU", "cpu", Unit.PERCENT, Target(ratio=1.5)),
    Row("calls of the provider meanwhile", "calls", Unit.COUNT, Target(limit=0)),
    Row("writes of Nodes, Services and Events meanwhile", "writes", Unit.COUNT, Target(limit=0)),
)
_CLOUD_HANDOVER = (Row("SIGTERM of the leader → the other acts", "seconds", Unit.SECONDS, Target(limit=3)),)

CLOUD = (
    Group("nodes", cloud_nodes.many_nodes, _CLOUD_MANY, rounds=1),
    Group("steady", cloud_nodes.steady_nodes, _CLOUD_STEADY, rounds=1),
    Group("node", cloud_nodes.one_node, _CLOUD_ONE),
    Group("served", cloud_nodes.one_node_served, _CLOUD_SERVED),
    Group("service", cloud_services.one_service, _CLOUD_SERVICE),
    Group("services", cloud_services.many_services, _CLOUD_SERVICES, rounds=1),
    Group("memory", cloud_services.memory, _CLOUD_MEMORY, rounds=1),
    Group("idle", cloud_nodes.idle_nodes, _CLOUD_IDLE, rounds=2),
    Group("handover", cloud_nodes.handover, _CLOUD_HANDOVER),
)

"""What one run measures: programs of a kind are its peers."""

FLOORS = (
    Row("fork and exec of bash → hook's first line", "spawn", Unit.MILLISECONDS),
    Row("bash runs one after another, by Python's subprocess", "rate", Unit.RATE),
    Row("raw list of 10,000", "list", Unit.SECONDS),
    Row("raw list of 50,000", "list_many", Unit.SECONDS),
    Row("the 249 objects created, 8 requests at a time", "objects", Unit.SECONDS),
    Row("the same module by module, with a record before that is replaced after it", "turns", Unit.SECONDS),
    Row("then an object of each of the 29 changed, with two records each, 8 modules at once", "upgrades", Unit.SECONDS),
    Row("a ConfigMap written → told to a watch", "told", Unit.MILLISECONDS),
)
