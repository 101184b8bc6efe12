"""Which files are linted, what is an error, and the positions of findings. The meaning of codes: test_samples.py.

Level: pure."""

import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hookrunner.errors import StartRefused
from hookrunner.linting.binding_checks import check_handlers
from hookrunner.linting.findings import Finding
from hookrunner.linting.hook_linter import Linter
from hookrunner.linting.hook_source import Source
from hookrunner.model.bindings import BindingType, HookConfig
from tests.linting.conftest import Write

SAMPLES = Path(__file__).parent / "samples"
QUIET = """#!/bin/sh\necho '{"configVersion": "v1", "onStartup": 1}'\n"""


async def found(linter: Linter, *paths: Path) -> list[Finding]:
    return list((await linter.lint(paths)).findings)


async def test_all_problems_of_a_configuration_are_errors_at_their_keys(linter: Linter) -> None:
    findings = await found(linter, SAMPLES / "refused/bad.sh")
    assert [(one.line, one.column, one.code) for one in findings] == [(8, 3, "refused"), (10, 3, "refused")]
    assert findings[0].text.startswith("kubernetes[0].jqFiltre is a forbidden property; did you mean 'jqFilter'?")
    assert "minute: an item is not one of 0 to 59" in findings[1].text
    assert "found '61 * * * *'" in findings[1].text


async def test_world_writable_files_are_reported(linter: Linter, write: Write) -> None:
    path, library = write("hooks/a.sh", QUIET), write("hooks/lib/l.sh", "")
    path.chmod(0o777)
    library.chmod(0o666)
    mend = "can be written by every user, so that a start outside of a pod is refused; chmod o-w {}"
    for named, told in ((path, [path]), (path.parent, [path, library])):
        findings = [one for one in await found(linter, named) if one.code == "writable"]
        assert findings == [Finding(str(one), 1, 1, "writable", mend.format(one)) for one in told]


@pytest.mark.parametrize(("place", "refused"), [("modules/dns/hooks/a.sh", False), ("hooks/a.sh", True)])
async def test_lifecycle_binding_is_accepted_in_a_module(
    linter: Linter, write: Write, place: str, refused: bool
) -> None:
    path = write(place, QUIET.replace("onStartup", "beforeHelm"))
    for named in (path, path.parent):
        assert [one.code for one in await found(linter, named)] == ["refused"] * refused


async def test_a_lifecycle_binding_gets_every_snapshot(linter: Linter, write: Write) -> None:
    kept = '"kubernetes": [{"kind": "Node", "executeHookOnEvent": [], "executeHookOnSynchronization": false}]'
    path = write("modules/dns/hooks/a.sh", QUIET.replace('"onStartup": 1', f'"beforeHelm": 1, {kept}'))
    assert await found(linter, path) == []


def test_a_lifecycle_binding_needs_a_handler_of_the_shell_framework() -> None:
    text = b'source "$(hookrunner shell-lib)"\n__config__() { :; }\n__on_before_helm() { :; }\nhook::run "$@"\n'
    config = HookConfig("v1", lifecycle={BindingType.BEFORE_HELM: 1, BindingType.AFTER_DELETE_HELM: 1})
    (remark,) = check_handlers(Source(Path("a.sh"), text), config)
    assert remark.text.startswith("no handler for afterDeleteHelm: ")
    assert "define __on_after_delete_helm, or __main__" in remark.text


async def test_a_filter_that_does_not_compile_is_an_error(linter: Linter, write: Write) -> None:
    config = '{"configVersion": "v1", "kubernetes": [{"kind": "Node", "jqFilter": ".["}]}'
    (finding,) = await found(linter, write("hook", f"#!/bin/sh\necho '{config}'\n"))
    assert (finding.code, finding.severity) == ("refused", "error")
    assert "compile jqFilter: syntax error" in finding.text


async def test_a_long_traceback_is_reported_with_its_last_line(linter: Linter, write: Write) -> None:
    calls = "\n".join(f"def f{number}(): f{number + 1}()  # {'x' * 60}" for number in range(40))
    reason = "raise TypeError(\"'que' is no keyword of kubernetes; did you mean 'queue'?\")"
    script = f"#!/usr/bin/env python3\nimport os\n{calls}\ndef f40():\n    {reason}\nf0()\n"
    (finding,) = await found(linter, write("hook.py", script))
    assert "Traceback (most recent call last)" in finding.text
    assert "'que' is no keyword of kubernetes; did you mean 'queue'?" in finding.text


async def test_hook_that_fails_on_config_is_reported_with_its_output(linter: Linter) -> None:
    (finding,) = await found(linter, SAMPLES / "refused/bad-exit.py")
    assert finding.text == "it cannot be asked: exit status 1; hook --config error output: no such thing"


async def test_hanging_hook_is_an_error(linter: Linter, write: Write) -> None:
    path = write("hook", "#!/bin/sh\nexec sleep 60\n")
    quick = replace(linter, settings=replace(linter.settings, config_timeout=0.05))
    (finding,) = await found(quick, path)
    assert finding.text.startswith("it cannot be asked: timed out after")


async def test_hooks_are_asked_side_by_side(linter: Linter, write: Write, tmp_path: Path) -> None:
    """Each waits for the other: run one after another they would never end."""
    for name, other in ("ab", "ba"):
        write(name, f"#!/bin/sh\ntouch {name}.txt; until [ -e {other}.txt ]; do sleep 0.01; done\n{QUIET}")
    linted = await linter.lint([tmp_path])
    assert (linted.hooks, linted.findings) == (2, ())


async def test_directory_is_searched_as_at_the_start(linter: Linter, write: Write, tmp_path: Path) -> None:
    for name in ("b.sh", "a/z.sh", ".git/x.sh", "notes.txt", "values.yaml"):
        write(name, "#!/bin/sh\nexit 1\n")
    assert [one.path for one in await found(linter, tmp_path)] == [f"{tmp_path}/a/z.sh", f"{tmp_path}/b.sh"]


async def test_paths_are_shown_as_they_were_given(
    linter: Linter, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("hooks/a.sh", "#!/bin/sh\nexit 1\n")
    monkeypatch.chdir(tmp_path)
    assert [one.path for one in await found(linter, Path("hooks"))] == ["hooks/a.sh"]
    assert [one.path for one in await found(linter, Path("hooks/a.sh"))] == ["hooks/a.sh"]


async def test_nested_paths_are_reported_once(linter: Linter, write: Write, tmp_path: Path) -> None:
    path = write("a.sh", "#!/bin/sh\nexit 1\n")
    assert len(await found(linter, tmp_path, path)) == 1


async def test_symlink_to_a_directory_is_reported(linter: Linter, write: Write, tmp_path: Path) -> None:
    write("elsewhere/a.sh", QUIET)
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks/link").symlink_to("../elsewhere")
    (finding,) = await found(linter, tmp_path / "hooks")
    assert (finding.path, finding.code) == (f"{tmp_path}/hooks/link", "not-found")


async def test_broken_symlink_is_an_error(linter: Linter, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    (finding,) = await found(linter, tmp_path)
    assert finding.code == "refused"
    assert "the file is not there" in finding.text


async def test_missing_directory_is_refused(linter: Linter, tmp_path: Path) -> None:
    (tmp_path / "hooks").mkdir(mode=0o000)
    (tmp_path / "hooks").rmdir()
    with pytest.raises((StartRefused, FileNotFoundError)):
        await found(linter, tmp_path / "hooks")


@pytest.mark.parametrize(("zone", "shown"), [("", "+01:00"), (', "timezone": "UTC"', "+00:00")])
async def test_next_runs_are_shown_in_the_zone_of_the_schedule(
    linter: Linter, write: Write, monkeypatch: pytest.MonkeyPatch, zone: str, shown: str
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    config = f'{{"configVersion": "v1", "schedule": [{{"crontab": "0 3 * * *"{zone}}}]}}'
    path = write("hook", f"#!/bin/sh\necho '{config}'\n")
    local = datetime(2026, 1, 1, 12, tzinfo=ZoneInfo("Europe/Berlin"))
    (finding,) = await found(replace(linter, now=local), path)
    monkeypatch.undo()
    time.tzset()
    assert finding.text == (
        "the schedule 'schedule' ('0 3 * * *') fires next: "
        f"2026-01-02T03:00:00{shown}, 2026-01-03T03:00:00{shown}, 2026-01-04T03:00:00{shown}"
    )


@pytest.mark.parametrize("text", ["\x7fELF\0\0", "", "\n", "#!", "# hookrunner: ignore=", "\ud7ff", "def (:\n"])
async def test_lint_accepts_any_bytes(linter: Linter, write: Write, text: str) -> None:
    findings = await found(linter, write("hook.py", text))
    assert "refused" in {one.code for one in findings}


async def test_compiled_program_is_run_but_not_read(linter: Linter, tmp_path: Path) -> None:
    (tmp_path / "true").symlink_to("/bin/true")
    assert {one.code for one in await found(linter, tmp_path / "true")} == {"refused"}


@pytest.mark.parametrize(
    ("sample", "text"),
    [
        ("handler-unknown/bad.sh", "no binding is named 'namespace'; did you mean 'namespaces'?"),
        (
            "handler-missing/bad-schedule.sh",
            "no handler for onStartup: every run that brings it fails; define __on_st",
        ),
        ("handler-missing/bad-group.sh", "no handler for the group 'all'"),
        ("queue-unused/bad.sh", "queue 'nodes': it is a snapshot only; drop the queue"),
        ("queue-unused/bad-synchronization.sh", "its Synchronization runs in 'main'; drop the queue, or set waitFor"),
        (
            "queue-unused/bad-rules.sh",
            "rules for 'mirrors', and no binding of the hook is in this queue; did you mean 'mirror'?",
        ),
        ("filter-noisy/bad-lease.sh", "lets spec.renewTime through"),
        ("filter-noisy/bad-4.sh", "lets metadata.resourceVersion through"),
        ("object-unguarded/bad.py", "reads `.filterResult`, which the Synchronization of 'namespaces' does not have"),
        ("shebang/bad-relative.py", "its first line names 'python3' where an absolute path is needed"),
        ("shebang/bad-two-words.sh", "write #!/usr/bin/env -S bash -e"),
        ("cron-busy/bad-every.sh", "('@every 1s': 2026-01-01T12:00:01+00:00, 2026-01-01T12:00:02+00:00, "),
    ],
)
async def test_finding_states_problem_reason_and_remedy(linter: Linter, sample: str, text: str) -> None:
    assert text in "\n".join(finding.text for finding in await found(linter, SAMPLES / sample))


async def test_framework_path_of_the_image_is_reported_with_a_remedy(linter: Linter, write: Write) -> None:
    (finding,) = await found(linter, write("a.sh", "#!/bin/bash\nsource /no/such/shell_lib.sh\nhook::run $@\n"))
    assert finding.text.endswith('write source "$(hookrunner shell-lib)"')


async def test_wrong_value_is_located_among_many(linter: Linter, write: Write) -> None:
    config = '{"configVersion": "v1", "schedule": [{"crontab": "1 * * * *"},\n{"crontab": "61 * * * *"}]}'
    (finding,) = await found(linter, write("a.sh", f"#!/bin/sh\necho '{config}'\n"))
    assert (finding.line, finding.column) == (3, 14)


async def test_hook_finds_no_cluster_during_lint(linter: Linter, write: Write) -> None:
    """Linting only reads files."""
    mine = {**linter.settings.environ, "KUBECONFIG": "/mine", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    script = f'#!/bin/sh\necho "$KUBECONFIG ${{KUBERNETES_SERVICE_HOST-none}}" > {linter.settings.tmp_dir}/seen\n'
    path = write("a.sh", script + QUIET.removeprefix("#!/bin/sh\n"))
    assert await found(replace(linter, settings=replace(linter.settings, environ=mine)), path) == []
    assert (linter.settings.tmp_dir / "seen").read_text() == "/dev/null none\n"
