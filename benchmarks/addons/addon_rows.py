"""The rows of the tables about addons, and what each of them is measured by."""

from benchmarks.addons import many
from benchmarks.addons.floor import floor
from benchmarks.addons.install import install
from benchmarks.addons.listed import listed
from benchmarks.addons.source_runs import source_runs
from benchmarks.addons.sources import sources
from benchmarks.row import Row, Target, Unit
from benchmarks.rows import Group

_INSTALL = (
    Row("`kubectl apply --server-side` of what CoreDNS consists of", "kubectl", Unit.MILLISECONDS),
    Row("CoreDNS object written → all of this exists, just when its kind was defined", "defined", Unit.MILLISECONDS),
    Row("ratio", "defined_ratio", Unit.TIMES),
    Row("the same right after another start", "first", Unit.MILLISECONDS),
    Row("ratio", "first_ratio", Unit.TIMES, Target(limit=4)),
    Row("the same later", "again", Unit.MILLISECONDS),
    Row("ratio", "again_ratio", Unit.TIMES, Target(limit=1.5)),
)
_MANY = (
    Row("50 modules of 10 objects, from nothing → written", "cold_modules", Unit.SECONDS),
    Row("50 instances of one kind, the same chart", "cold_instances", Unit.SECONDS),
    Row("ratio", "cold", Unit.TIMES, Target(limit=1.2)),
    Row("CPU time until then, without hooks: modules", "cold_cpu_modules", Unit.SECONDS),
    Row("the same: instances", "cold_cpu_instances", Unit.SECONDS),
    Row("ratio", "cold_cpu", Unit.TIMES),
    Row("CPU time of API server and etcd until then: modules", "plane_cpu_modules", Unit.SECONDS),
    Row("the same: instances", "plane_cpu_instances", Unit.SECONDS),
    Row("restart, nothing to do: modules", "restart_modules", Unit.SECONDS),
    Row("the same: instances", "restart_instances", Unit.SECONDS),
    Row("ratio to the instances' cold start", "restart", Unit.TIMES, Target(limit=0.4)),
    Row("writes of that restart", "writes_instances", Unit.COUNT, Target(limit=0)),
    Row("packages fetched by it", "fetches_instances", Unit.COUNT, Target(limit=0)),
    Row("a module's value changed → its object changed, p50", "field_modules", Unit.MILLISECONDS),
    Row("a field of an instance changed → its object changed, p50", "field_instances", Unit.MILLISECONDS),
    Row("ratio", "field", Unit.TIMES, Target(limit=1.3)),
)
_FLOOR = (
    Row("the requests of 50 modules, from nothing, sent by a bare client", "modules", Unit.SECONDS),
    Row("CPU time for them: client, API server, etcd", "modules_cpu", Unit.SECONDS),
    Row("how many", "modules_count", Unit.COUNT),
    Row("the same with a dry run of each object before the first write of its module", "tried", Unit.SECONDS),
    Row("ratio: what dry runs cost any client", "tried_ratio", Unit.TIMES),
    Row("CPU time", "tried_cpu", Unit.SECONDS),
    Row("ratio", "tried_cpu_ratio", Unit.TIMES),
    Row("how many", "tried_count", Unit.COUNT),
    Row("the requests of 50 instances", "instances", Unit.SECONDS),
    Row("ratio", "instances_ratio", Unit.TIMES),
    Row("CPU time", "instances_cpu", Unit.SECONDS),
    Row("ratio", "instances_cpu_ratio", Unit.TIMES),
    Row("how many", "instances_count", Unit.COUNT),
)
_STATUS = (
    Row("event → hook's first line, p50", "event", Unit.MILLISECONDS),
    Row("a Deployment's status written → its instance's status shows it, p50", "status", Unit.MILLISECONDS),
    Row("ratio", "ratio", Unit.TIMES, Target(limit=3)),
)
_MANY_MEMORY = (
    Row("resident memory with 50 modules, all children ended", "quiet_modules", Unit.MEGABYTES),
    Row("with 50 instances", "quiet_instances", Unit.MEGABYTES),
    Row("ratio", "quiet", Unit.TIMES, Target(limit=1.15)),
    Row("before that: modules", "busy_modules", Unit.MEGABYTES),
    Row("before that: instances", "busy_instances", Unit.MEGABYTES),
    Row("ratio", "busy", Unit.TIMES, Target(limit=1.15)),
)

_LISTED = (
    Row("a hook with a filter on 1,000 objects of 20 kinds: resident memory", "hook", Unit.MEGABYTES),
    Row("the list of addons with these objects", "list", Unit.MEGABYTES),
    Row("ratio", "ratio", Unit.TIMES, Target(limit=1)),
    Row("requests about these objects until then: the hook", "hook_requests", Unit.COUNT),
    Row("the list", "list_requests", Unit.COUNT),
    Row("ratio", "asked", Unit.TIMES, Target(limit=1)),
    Row("and for its own kind, when nothing has changed", "list_own", Unit.COUNT),
)
_SOURCES = (
    Row("an unchanged package of 20 files, from a directory: CPU", "directory", Unit.MILLISECONDS),
    Row("the same from an image layout, by that", "layout", Unit.TIMES, Target(limit=1.2)),
    Row("the same from a registry, pinned and cached, by that", "registry", Unit.TIMES, Target(limit=1.2)),
    Row("the question to the registry, answer included: CPU of both", "asked", Unit.MILLISECONDS),
    Row("what a run has to do with its source, a directory: CPU", "run", Unit.MILLISECONDS),
    Row("the same, pinned and cached, from a web server, by that", "run_https", Unit.TIMES, Target(limit=1.2)),
    Row("the same from git, by that", "run_git", Unit.TIMES, Target(limit=1.2)),
    Row("the same from a registry, by that", "run_registry", Unit.TIMES, Target(limit=1.2)),
    Row("the same from ConfigMaps, answers included: CPU of both", "run_objects", Unit.MILLISECONDS),
    Row("a run that asks, answer included, CPU of both: a web server", "asked_https", Unit.MILLISECONDS),
    Row("the same: git, without the server's processes", "asked_git", Unit.MILLISECONDS),
    Row("the same: a registry", "asked_registry", Unit.MILLISECONDS),
)

_SOURCE_RUNS = (
    Row("a run with an unchanged package of 20 files from a directory: CPU", "directory", Unit.MILLISECONDS),
    Row("the same, pinned and cached, from a web server, by that", "https", Unit.TIMES, Target(limit=1.2)),
    Row("the same from git, by that", "git", Unit.TIMES, Target(limit=1.2)),
    Row("the same from a registry, by that", "registry", Unit.TIMES, Target(limit=1.2)),
    Row("the same from ConfigMaps, by that", "objects", Unit.TIMES, Target(limit=1.2)),
)

ADDONS = (
    Group("install", install, _INSTALL),
    Group("many", many.many, _MANY),
    Group("floor", floor, _FLOOR, rounds=1),
    Group("status", many.status, _STATUS),
    Group("memory", many.memory, _MANY_MEMORY, rounds=1),
    Group("listed", listed, _LISTED, rounds=2, ours=True),
    Group("sources", sources, _SOURCES, rounds=1, ours=True),
    Group("source-runs", source_runs, _SOURCE_RUNS, rounds=1, ours=True),
)
