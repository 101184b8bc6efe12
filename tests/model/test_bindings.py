"""What a hook's configuration says about its runs. Level: pure."""

from hookrunner.model.bindings import Admission, BindingType, HookConfig, Kubernetes, Schedule
from tests.tables import each

WEBHOOK = (Admission("a.example.com"),)
SNAPSHOT = Kubernetes("x", "ConfigMap", changes=frozenset(), run_on_synchronization=False)


@each(
    ("config", "runs"),
    [
        (HookConfig("v1", validating=WEBHOOK), False),
        (HookConfig("v1", validating=WEBHOOK, kubernetes=(SNAPSHOT,)), False),
        (HookConfig("v1", validating=WEBHOOK, kubernetes=(SNAPSHOT, Kubernetes("y", "Pod"))), True),
        (HookConfig("v1", validating=WEBHOOK, schedules=(Schedule("s", "* * * * *"),)), True),
        (HookConfig("v1", validating=WEBHOOK, on_startup=0), True),
        (HookConfig("v1", lifecycle={BindingType.BEFORE_HELM: 1}), True),
    ],
)
def test_a_hook_that_only_answers_reviews_never_runs_unasked(config: HookConfig, runs: bool) -> None:
    assert config.runs_unasked is runs
