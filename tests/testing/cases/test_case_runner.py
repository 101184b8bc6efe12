"""Finding test files, running cases side by side, reporting them in order and as JUnit XML. Level: pure."""

from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from hookrunner.errors import BadInput
from hookrunner.testing.bench import Bench
from hookrunner.testing.cases import case_runner, hook_cases
from hookrunner.testing.cases.hook_cases import HookCases, HookOutcome
from tests.testing.conftest import Author

CONFIG = {"onStartup": 1, "kubernetes": [{"name": "cms", "kind": "ConfigMap"}]}
CM = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: n}}"
START = "when: {event: Startup}"


async def outcomes(tools: Bench, *paths: Path, named: str = "", at_once: int = 4) -> list[HookOutcome]:
    files = hook_cases.load(hook_cases.find(paths))
    cases = [(file, case) for file in files for case in file.cases if named in case.name]
    return [outcome async for outcome in case_runner.run_cases(HookCases(tools), cases, at_once)]


def write_tests(hook: Path, *cases: str) -> Path:
    path = hook.with_name(hook.name + ".test.yaml")
    path.write_text("\n".join(f"- {case}" for case in cases) + "\n")
    return path


async def test_each_case_passes_or_says_what_is_wrong(tools: Bench, write_hook: Author) -> None:
    hook = write_hook(CONFIG, "echo hi")
    write_tests(
        hook,
        f"{{name: ok, {START}, expect: {{logs: [hi]}}}}",
        f"{{name: wrong, {START}, expect: {{exit: 1}}}}",
        "{name: unclear, when: {event: Schedule}}",
        f"{{name: not run, when: {{event: Added, object: {CM % 'a'}, binding: cms}}, expect: {{run: false}}}}",
    )
    found = await outcomes(tools, hook)
    assert [outcome.passed for outcome in found] == [True, False, False, False]
    assert found[1].lines == ["exit:", "  exit 0, expected 1", "the hook printed:", "  | hi"]
    assert found[2].lines == [f"{hook}.test.yaml:3: the hook has no schedule binding"]
    assert found[3].lines[:2] == ["run:", "  the hook ran"]


async def test_final_objects_are_compared(tools: Bench, write_hook: Author) -> None:
    script = "echo '{operation: DeleteInBackground, kind: cm, namespace: n, name: a}' > $KUBERNETES_PATCH_PATH"
    expect = f"expect: {{objects: {{exactly: [{CM % 'b'}]}}}}"
    refused = f"{{name: refused, {START}, expect: {{objects: []}}}}"
    hook = write_hook(CONFIG, script)
    write_tests(hook, f"{{name: ok, given: [{CM % 'a'}, {CM % 'b'}], {START}, {expect}}}")
    (found,) = await outcomes(tools, hook)
    assert found.lines == []
    patch = "{operation: MergePatch, kind: cm, namespace: n, name: no, mergePatch: {data: {}}}"
    write_tests(write_hook(CONFIG, f"echo '{patch}' > $KUBERNETES_PATCH_PATH"), refused)
    (found,) = await outcomes(tools, hook)
    assert 'configmaps "no" not found' in "".join(found.lines)


async def test_conditions_for_a_given_instance_are_compared(tools: Bench, write_hook: Author) -> None:
    hook = write_hook(CONFIG, """echo '{"type": "Odd", "status": "True"}' > $CONDITIONS_PATH""")
    given = f"given: {{instance: {CM % 'a'}}}, {START}"
    write_tests(
        hook,
        f"{{name: ok, {given}, expect: {{conditions: [{{type: Odd, healthy: true}}]}}}}",
        f"{{name: wrong, {given}, expect: {{conditions: []}}}}",
    )
    ok, wrong = await outcomes(tools, hook)
    assert (ok.lines, wrong.wrong[0].key) == ([], "conditions")


async def test_cases_run_side_by_side_and_are_reported_in_order(
    tools: Bench, write_hook: Author, tmp_path: Path
) -> None:
    """Each waits for the other."""
    script = f"""
mine=$(grep -o '"binding":"..' "$BINDING_CONTEXT_PATH"); touch {tmp_path}/"${{mine: -2}}"
until [ -e {tmp_path}/on ] && [ -e {tmp_path}/cm ]; do sleep 0.01; done
"""
    hook = write_hook(CONFIG, script)
    write_tests(hook, f"{{name: one, {START}}}", f"{{name: two, when: {{object: {CM % 'a'}}}}}")
    assert [outcome.case.name for outcome in await outcomes(tools, hook, at_once=2)] == ["one", "two"]


async def test_part_of_a_name_selects_cases(tools: Bench, write_hook: Author) -> None:
    hook = write_hook(CONFIG)
    write_tests(hook, f"{{name: this one, {START}}}", f"{{name: that, {START}}}")
    assert [outcome.case.name for outcome in await outcomes(tools, hook, named="his")] == ["this one"]


async def test_a_bad_hook_fails_its_cases(tools: Bench, write_hook: Author) -> None:
    bad = write_hook({"kind": "x"}, name="bad.sh")
    write_tests(bad, f"{{name: a, {START}}}")
    write_tests(bad.with_name("gone.sh"), f"{{name: b, {START}}}")
    one, other = await outcomes(tools, bad.parent)
    assert "kind is a forbidden property" in one.problem
    assert "there is no hook" in other.problem


def test_paths_without_tests_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.sh").touch()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "a.sh.test.yaml").touch()
    with pytest.raises(BadInput, match=r"no test cases: no \*.test.yaml below it"):
        hook_cases.find([tmp_path])
    with pytest.raises(BadInput, match="no such file or directory; name a hook"):
        hook_cases.find([tmp_path / "hooks"])
    with pytest.raises(BadInput, match=r"there is no a.sh.test.yaml beside it"):
        hook_cases.find([tmp_path / "a.sh"])


def test_the_problems_of_all_files_are_reported(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.sh.test.yaml").write_text("{}")
    with pytest.raises(BadInput) as found:
        hook_cases.load(hook_cases.find([tmp_path]))
    assert len(str(found.value).splitlines()) == 2


async def test_junit_counts_and_names_failures(tools: Bench, write_hook: Author) -> None:
    hook = write_hook(CONFIG, "printf 'bell\\a<\\n'")
    write_tests(
        hook, f"{{name: a, {START}}}", f"{{name: b, {START}, expect: {{exit: 1}}}}", "{name: c, when: {to: v1}}"
    )
    root = Xml.fromstring(case_runner.to_junit(await outcomes(tools, hook), 1.5))
    assert {key: root.get(key) for key in ("tests", "failures", "errors", "time")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
        "time": "1.500",
    }
    cases = root.findall("testsuite/testcase")
    assert [(case.get("classname"), case.get("name"), case.get("line")) for case in cases][1] == ("hook.sh", "b", "2")
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.get("message") == "not as expected: exit"
    assert root.findtext("testsuite/testcase/system-out") == "bell\ufffd<"
