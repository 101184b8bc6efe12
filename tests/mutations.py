"""Breaks the code in one place at a time, and shows that the quick tests catch each.

    python -m tests.mutations [NUMBER …]

It works on a copy of the last commit. The tests of the named file run first; if they pass, all quick tests do; if
these pass too, the row says MISSED, and the exit code is 1. A test that catches must pass without the mutation. Rows
whose file, text or tests have moved are named before anything runs, and by `tests/test_mutations.py`.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.cloud_mutations import CLOUD_MUTATIONS
from tests.unnoticed_mutations import UNNOTICED_MUTATIONS

ROOT = Path(__file__).parents[1]
QUICK = ("--hypothesis-profile=quick", "-m", "not cluster and not story and not slow and not nightly and not soak")


@dataclass(frozen=True, slots=True)
class Mutation:
    """A text that stands once in a file, what replaces it, and the tests that should notice."""

    file: str
    old: str
    new: str
    tests: str


MUTATIONS = (
    Mutation(
        "hookrunner/packages/package_files.py",
        "listed[path] != actual[path]",
        "not actual[path]",
        "tests/packages/test_package.py",
    ),
    Mutation(
        "hookrunner/packages/directory_source.py",
        "if not resolved.is_relative_to(os.path.realpath(self._root)):",
        "if not resolved.is_absolute():",
        "tests/packages/test_directory_source.py",
    ),
    Mutation(
        "hookrunner/packages/package_cache.py",
        "fcntl.LOCK_EX | fcntl.LOCK_NB",
        "fcntl.LOCK_SH | fcntl.LOCK_NB",
        "tests/packages/test_package_cache.py",
    ),
    Mutation("hookrunner/engine/queues.py", "task.failures += 1", "task.failures += 0", "tests/engine/test_queues.py"),
    Mutation("hookrunner/engine/queues.py", "2.0 ** (failures - 1)", "2.0 ** failures", "tests/engine/test_queues.py"),
    Mutation(
        "hookrunner/kube/informer.py",
        "yield from map(Deleted, self._relist.unseen)",
        "yield from ()",
        "tests/kube/test_informer.py",
    ),
    Mutation(
        "hookrunner/kube/informer.py",
        '["type"] == "ERROR"',
        '["type"] == "NEVER"',
        "tests/kube/test_watch.py",
    ),
    Mutation(
        "hookrunner/model/tasks.py",
        "self.allow_failure == other.allow_failure",
        "bool(other)",
        "tests/engine/test_merging.py",
    ),
    Mutation("hookrunner/values/section.py", "return low | over", "return over | low", "tests/values/test_section.py"),
    Mutation(
        "hookrunner/values/patches.py",
        '"add" and not isinstance(op',
        '"add" and isinstance(op',
        "tests/values/test_patches.py",
    ),
    Mutation(
        "hookrunner/modules/enabled.py",
        "None if answer.wanted else",
        "None if not answer.wanted else",
        "tests/modules/test_enabled.py",
    ),
    Mutation(
        "hookrunner/modules/order.py",
        "[module.name] if module.traits.gate else []",
        "[]",
        "tests/modules/test_order.py",
    ),
    Mutation("hookrunner/safe_files.py", "mode: int = 0o600", "mode: int = 0o644", "tests/test_embedded.py"),
    Mutation("hookrunner/redaction.py", "sorted(several, reverse=True)", "sorted(several)", "tests/test_redaction.py"),
    Mutation("hookrunner/cron.py", "+ 1) * self.period", "+ 2) * self.period", "tests/test_cron.py"),
    Mutation(
        "kubetypes/quantities.py", '-value if sign == "-" else value', "value", "tests/kubetypes/test_quantities.py"
    ),
    Mutation(
        "hookrunner/manifests/patches.py",
        "len(positions) > 1",
        "not positions",
        "tests/manifests/test_patches.py",
    ),
    Mutation("hookrunner/manifests/placeholders.py", "-len(text)", "len(text)", "tests/manifests/test_placeholders.py"),
    Mutation("hookrunner/web/server.py", "unready: int = 503", "unready: int = 200", "tests/web/test_server.py"),
    Mutation("hookrunner/certificates/issuing.py", "* 2 / 3", "* 1 / 2", "tests/certificates/test_issuing.py"),
    Mutation(
        "hookrunner/releases/manifest_objects.py",
        '.strip().lower() == "keep"',
        '.strip() == "keep"',
        "tests/releases/test_ownership.py",
    ),
    Mutation(
        "hookrunner/releases/readiness.py",
        "self.failed or not self.not_ready()",
        "not self.not_ready()",
        "tests/releases/test_readiness.py",
    ),
    Mutation(
        "kubesandbox/store.py",
        "at is not None and at < self.revision",
        "at is not None and at < 0",
        "tests/kubesandbox/test_store.py",
    ),
    Mutation(
        "hookrunner/testing/matching.py",
        "name not in binding.names",
        "name in binding.names",
        "tests/testing/test_plan.py",
    ),
    Mutation("hookrunner/kube/back_off.py", "first * factor **", "first * 1.0 **", "tests/kube/test_back_off.py"),
    Mutation(
        "hookrunner/addons/build_request.py",
        'if name != "previousVersion"',
        "if name",
        "tests/addons/test_object_builder.py",
    ),
    Mutation(
        "hookrunner/addons/object_builder.py",
        "if unknown else known",
        "if not unknown else known",
        "tests/addons/test_object_builder.py",
    ),
    Mutation(
        "hookrunner/addons/version_resolver.py",
        "older or request.downgrade ==",
        "older or request.downgrade !=",
        "tests/addons/test_version_resolver.py",
    ),
    Mutation(
        "hookrunner/instances/instance_planner.py",
        "if not head.note:",
        "if head.note:",
        "tests/instances/test_instance_planner.py",
    ),
    Mutation(
        "hookrunner/instances/instance_rollbacks.py",
        "0 < healthy.revision < installed.revision",
        "0 <= healthy.revision <= installed.revision",
        "tests/instances/test_instance_rollbacks.py",
    ),
    Mutation(
        "hookrunner/instances/package_choice.py",
        "if head is None or head.note or not",
        "if head is None or not",
        "tests/instances/test_package_choice.py",
    ),
    Mutation(
        "hookrunner/convergence/runs/unit_rollbacks.py",
        "replaced if head.digest == replaced",
        "replaced if head.digest != replaced",
        "tests/convergence/runs/test_unit_rollbacks.py",
    ),
    Mutation(
        "hookrunner/convergence/turns.py",
        "if not state.turn and not self.awaited(name)",
        "if not state.turn",
        "tests/convergence/test_turns.py",
    ),
    Mutation(
        "hookrunner/kube/client.py",
        'if call.method != "GET" and not self._leads():',
        "if not self._leads:",
        "tests/kube/test_client.py",
    ),
    Mutation(
        "hookrunner/hooks/patches.py",
        "if key in _FLAGS and not was_json",
        "if key in _FLAGS",
        "tests/hooks/test_patches.py",
    ),
    Mutation(
        "hookrunner/metrics/hooks.py", "        if reasons:", "        if not reasons:", "tests/metrics/test_bounds.py"
    ),
    Mutation(
        "hookrunner/kube/writes.py",
        "application/merge-patch+json",
        "application/json-patch+json",
        "tests/kube/test_writes.py",
    ),
    Mutation(
        "hookrunner/engine/run_gate.py",
        "return bucket.take(self._clock()) if bucket else 0.0",
        "return 0.0",
        "tests/engine/test_run_gate.py",
    ),
    Mutation(
        "hookrunner/engine/run_gate.py",
        "if await self._wait_for_token(order, report):",
        "if not await self._wait_for_token(order, report):",
        "tests/engine/test_run_gate.py",
    ),
    Mutation(
        "hookrunner/engine/run_gate.py",
        "due = None if obstacle.brief else until",
        "due = until if obstacle.brief else None",
        "tests/engine/test_run_gate.py",
    ),
    Mutation(
        "hookrunner/convergence/decisions/configuration.py",
        "if state.live and flags[state.module.name].choice is Choice.OFF:",
        "if False:",
        "tests/convergence/decisions/test_module_decisions.py",
    ),
    Mutation(
        "hookrunner/convergence/reactions.py",
        "                elif cause:\n",
        "                elif True:\n",
        "tests/convergence/test_reactions.py",
    ),
    Mutation(
        "hookrunner/convergence/converge.py",
        "for state in reversed(going):",
        "for state in going:",
        "tests/convergence/test_converge.py",
    ),
    Mutation(
        "hookrunner/convergence/turns.py",
        " and state.began_at < ready_at",
        "",
        "tests/convergence/test_turns.py",
    ),
    Mutation(
        "hookrunner/convergence/turns.py",
        "for name in self._new - new:",
        "for name in new - new:",
        "tests/convergence/test_turn_dispatcher.py",
    ),
    Mutation(
        "hookrunner/convergence/turns.py",
        "        self._given.clear()\n",
        "",
        "tests/convergence/test_turn_dispatcher.py",
    ),
    *(Mutation(*row) for row in (*CLOUD_MUTATIONS, *UNNOTICED_MUTATIONS)),
)


def stale(root: Path) -> list[str]:
    """What is wrong with each row that no longer fits the code."""
    return [
        f"row {number} ({mutation.file}): {problem}; the code has moved: give the row its new place"
        for number, mutation in enumerate(MUTATIONS, 1)
        if (problem := _problem(root, mutation))
    ]


def _problem(root: Path, mutation: Mutation) -> str:
    file = root / mutation.file
    if not file.is_file():
        return "there is no such file"
    if not (root / mutation.tests).exists():
        return f"there is no {mutation.tests}"
    count = file.read_text().count(mutation.old)
    return "" if count == 1 else f"the text {mutation.old!r} is there {count} times, not once"


def main(numbers: list[int]) -> int:
    if unknown := sorted(set(numbers) - set(range(1, len(MUTATIONS) + 1))):
        raise SystemExit(f"there are rows 1 to {len(MUTATIONS)}, not {', '.join(map(str, unknown))}")
    missed = 0
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch)
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", scratch], input=archive, check=True)
        if problems := stale(copy):
            raise SystemExit("\n".join(problems))
        for number in numbers or range(1, len(MUTATIONS) + 1):
            mutation = MUTATIONS[number - 1]
            outcome = _outcome(copy, mutation)
            missed += outcome == "MISSED"
            print(f"| {number} | `{mutation.file}` | `{mutation.old}` → `{mutation.new}` | {outcome} |", flush=True)
    return 1 if missed else 0


def _outcome(copy: Path, mutation: Mutation) -> str:
    file = copy / mutation.file
    text = file.read_text()
    for tests, workers in ((mutation.tests, "0"), ("tests", "2")):
        file.write_text(text.replace(mutation.old, mutation.new))
        failed = _failure(copy, tests, workers)
        file.write_text(text)
        if failed and not _failure(copy, failed, "0"):
            return f"caught by `{failed}`"
    return "MISSED"


def _failure(copy: Path, tests: str, workers: str) -> str:
    """The first test that fails; empty if none does."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", workers, "--tb=no", "--no-header", *QUICK, tests]
    # The copy comes before the checkout that is installed for development.
    environ = {**os.environ, "PYTHONPATH": str(copy)}
    done = subprocess.run(command, cwd=copy, env=environ, capture_output=True, text=True)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split()[1].partition("[")[0] if failed else ""


if __name__ == "__main__":
    sys.exit(main([int(word) for word in sys.argv[1:]]))
