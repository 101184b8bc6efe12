"""Events become orders: pure, by tables. Level: pure."""

from dataclasses import replace
from pathlib import Path

from hookrunner.engine import dispatch
from hookrunner.model.bindings import BindingType, Change, Hook, HookConfig, HookSettings, Kubernetes, Schedule
from hookrunner.model.contexts import ContextType, Include
from hookrunner.model.events import BindingId, ObjectChanged, Ticked
from hookrunner.model.resources import ObjectKey
from hookrunner.model.tasks import HookRun, Task
from tests.tables import each

PODS = Kubernetes("pods", "Pod", queue="q1", allow_failure=True)
MINUTE = Schedule("every-min", "* * * * *")


def hook(name: str, startup: float | None = None, **config: object) -> Hook:
    return Hook(name, Path("/hooks") / name, HookConfig("v1", startup, **config))  # type: ignore[arg-type]


def changed(index: int = 0) -> ObjectChanged:
    key = ObjectKey("default", "Pod", "p")
    return ObjectChanged(BindingId("h", index), Change.ADDED, key, b"{}", b"1", seen_at=7.0)


def test_the_start_fills_main_in_the_documented_order() -> None:
    """The vectors of shell-operator."""
    hooks = [
        hook("hook01", 20, kubernetes=(PODS,)),
        hook("hook02", 1, schedules=(MINUTE,)),
        hook("hook03", 10, kubernetes=(PODS,), schedules=(MINUTE,)),
    ]
    assert [Task(order, 0).describe() for order in dispatch.startup(hooks)] == [
        "HookRun::onStartup:hook02",
        "HookRun::onStartup:hook03",
        "HookRun::onStartup:hook01",
        "EnableKubernetesBindings:::hook01:EnableKubernetesBindings",
        "EnableScheduleBindings:::hook02:EnableScheduleBindings",
        "EnableKubernetesBindings:::hook03:EnableKubernetesBindings",
        "EnableScheduleBindings:::hook03:EnableScheduleBindings",
    ]


def test_equal_startup_numbers_go_by_name() -> None:
    orders = dispatch.startup([hook("b", 1), hook("a", 1), hook("c", 0)])
    assert [order.hook for order in orders] == ["c", "a", "b"]


def test_a_change_becomes_a_run_in_the_queue_of_its_binding() -> None:
    run = dispatch.for_change(hook("h", kubernetes=(PODS,)), changed())
    assert (run.queue, run.binding, run.allow_failure, run.seen_at) == ("q1", "pods", True, 7.0)
    assert run.contexts[0].type is ContextType.EVENT
    assert run.contexts[0].obj == b"{}"


def test_a_grouped_change_becomes_a_group_context() -> None:
    binding = Kubernetes("pods", "Pod", group="g", snapshots=("pods",))
    run = dispatch.for_change(hook("h", kubernetes=(binding,)), changed())
    (context,) = run.contexts
    assert run.group == "g"
    assert (context.type, context.group, context.includes) == (ContextType.GROUP, "g", (Include("pods", 0),))


@each(
    ("binding", "queue", "contexts"),
    [
        (PODS, "main", 1),
        (Kubernetes("pods", "Pod", queue="q1", wait_for_synchronization=False), "q1", 1),
        (Kubernetes("pods", "Pod", run_on_synchronization=False), "main", 0),
    ],
    ids=["main whatever the queue", "its own queue if nothing waits", "skipped but unlocking"],
)
def test_a_synchronization_goes_to(binding: Kubernetes, queue: str, contexts: int) -> None:
    (run,) = dispatch.synchronizations(hook("h", kubernetes=(binding,)), 0.0)
    assert (run.queue, len(run.contexts), run.unlocks) == (queue, contexts, (0,))


EACH = Kubernetes("pods", "Pod", queue="q1", synchronize_each_object=True, snapshots=("pods",))


def test_a_binding_with_a_run_for_each_object_opens_in_its_own_queue() -> None:
    each = hook("h", kubernetes=(PODS, EACH))
    _, opening = dispatch.synchronizations(each, 3.0)
    assert (opening.queue, opening.contexts, opening.unlocks) == ("q1", (), (1,))
    keys = [ObjectKey("n", "Pod", name) for name in "ab"]
    runs = dispatch.for_each_object(each, opening, {1: keys})
    assert [run.only_object for run in runs] == keys
    assert {(run.queue, run.unlocks, run.place, run.seen_at) for run in runs} == {("q1", (), 1, 3.0)}
    (context,) = runs[0].contexts
    assert (context.type, context.source, context.current) == (ContextType.SYNCHRONIZATION, 1, True)
    assert context.includes == (Include("pods", 0),)


def test_the_fields_of_a_run_about_one_object_name_it() -> None:
    run = dispatch.for_change(hook("h", kubernetes=(PODS,)), changed())
    assert run.fields == {"hook": "h", "binding": "pods", "event": "kubernetes", "object": "default/Pod/p"}
    other = replace(run.contexts[0], key=ObjectKey("default", "Pod", "q"))
    assert "object" not in run.merged([replace(run, contexts=(other,))]).fields


def test_in_the_queue_of_a_module_itself_all_objects_are_synchronized_at_once() -> None:
    own = hook("m/h", kubernetes=(replace(EACH, queue="module/m"),))
    (run,) = dispatch.synchronizations(replace(own, module="m"), 0.0)
    assert len(run.contexts) == 1


def test_a_tick_is_for_every_binding_with_its_crontab_and_zone() -> None:
    other = Schedule("zone", "* * * * *", timezone="Europe/Berlin")
    hooks = [hook("a", schedules=(MINUTE, other)), hook("b", schedules=(MINUTE, MINUTE))]
    runs = list(dispatch.for_tick(hooks, Ticked("* * * * *", 0.0)))
    assert [(run.hook, run.binding) for run in runs] == [("a", "every-min"), ("b", "every-min"), ("b", "every-min")]


def test_ticks_and_synchronizations_of_a_group_become_group_contexts() -> None:
    schedule = Schedule("every-min", "* * * * *", group="g", snapshots=("pods",))
    binding = Kubernetes("pods", "Pod", group="g", snapshots=("pods",))
    ticked = dispatch.for_tick([hook("h", kubernetes=(PODS,), schedules=(schedule,))], Ticked("* * * * *", 0.0))
    for runs in (ticked, dispatch.synchronizations(hook("h", kubernetes=(binding,)), 0.0)):
        (run,) = runs
        (context,) = run.contexts
        assert (run.group, context.type, context.group) == ("g", ContextType.GROUP, "g")
        assert context.includes == (Include("pods", 0),)


@each(
    ("config", "merges"),
    [
        (HookConfig("v1", kubernetes=(PODS,)), True),
        (HookConfig("v1", kubernetes=(PODS,), settings=HookSettings(combine=False)), False),
        (HookConfig("v0", kubernetes=(PODS,)), False),
    ],
)
def test_runs_merge_unless_the_hook_is_old_or_says_no(config: HookConfig, merges: bool) -> None:
    assert dispatch.for_change(Hook("h", Path("/h"), config), changed()).merges is merges


def test_a_name_that_two_bindings_have_means_the_one_in_the_same_group() -> None:
    unnamed = Kubernetes("kubernetes", "Pod"), Kubernetes("kubernetes", "ConfigMap", group="g")
    twins = hook("h", kubernetes=unnamed)
    names = ("kubernetes",)
    assert dispatch.includes(twins, Schedule("s", "* * * * *", group="g", snapshots=names)) == (Include(*names, 1),)
    assert dispatch.includes(twins, Schedule("s", "* * * * *", snapshots=names)) == (Include(*names, 0),)


def test_bindings_of_one_name_keep_their_own_order_only() -> None:
    unnamed = hook("h", kubernetes=(Kubernetes("kubernetes", "Foo"), Kubernetes("kubernetes", "ConfigMap")))
    first, second = dispatch.synchronizations(unnamed, 0.0)
    assert first.lanes.isdisjoint(second.lanes)


def test_an_order_is_described_as_in_the_predecessors_dump() -> None:
    """The vectors of shell-operator."""
    run = HookRun("h.sh", "every-min", BindingType.SCHEDULE, "q1", (), group="g1")
    task = Task(run, 0, failures=2, error="h.sh FAILED: boom")
    assert task.describe() == "HookRun:q1:schedule:h.sh:group=g1:every-min:failures 2:h.sh FAILED: boom"


def test_a_lifecycle_run_has_each_snapshot_once() -> None:
    """Of bindings of one name the first one's."""
    bindings = (
        Kubernetes("pods", "v1", "Pod"),
        Kubernetes("kubernetes", "v1", "A"),
        Kubernetes("kubernetes", "v1", "B"),
    )
    (context,) = dispatch.for_lifecycle(hook("h", kubernetes=bindings), BindingType.BEFORE_ALL).contexts
    assert context.includes == (Include("pods", 0), Include("kubernetes", 1))
