"""Hooks of modules and global ones, asked for their configurations. Level: pure."""

from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.errors import StartRefused
from hookrunner.hooks.catalog import load_global, load_unit
from hookrunner.jq.program import Jq
from hookrunner.model.bindings import BindingType
from hookrunner.model.modules import Module
from hookrunner.process.children import Children
from hookrunner.settings import HooksSettings

BEFORE_HELM = "echo '{configVersion: v1, beforeHelm: 3}'"


@pytest.fixture
def module(tmp_path: Path) -> Module:
    (tmp_path / "modules/001-a/hooks").mkdir(parents=True)
    return Module("a", "a", 1, tmp_path / "modules/001-a", tmp_path / "modules")


def write(directory: Path, name: str, script: str) -> Path:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


async def test_hooks_of_a_module_are_called_by_it_and_asked_where_the_program_runs(
    module: Module, settings: HooksSettings, children: Children, jq: Jq, tmp_path: Path
) -> None:
    path = write(module.directory, "hooks/x.sh", f"pwd > {tmp_path}/seen; {BEFORE_HELM}")
    (hook,) = (await load_unit(module.unit, settings, children, jq)).hooks
    assert (hook.name, hook.module, hook.label, hook.path) == ("a/hooks/x.sh", "a", "hooks/x.sh", path)
    assert hook.config.lifecycle == {BindingType.BEFORE_HELM: 3}
    assert (tmp_path / "seen").read_text().strip() == str(Path.cwd())


async def test_a_file_without_an_extension_is_asked_once_like_any_other(
    module: Module, settings: HooksSettings, children: Children, jq: Jq, tmp_path: Path
) -> None:
    write(module.directory, "hooks/x", f'echo "$@" >> {tmp_path}/asked; {BEFORE_HELM}')
    assert len((await load_unit(module.unit, settings, children, jq)).hooks) == 1
    assert (tmp_path / "asked").read_text() == "--config\n"


async def test_a_webhook_that_cannot_be_registered_under_its_modules_name_is_a_problem(
    module: Module, settings: HooksSettings, children: Children, jq: Jq
) -> None:
    """It would keep all others from being registered. Under another module's name it can be."""
    rule = "{apiGroups: [example.com], apiVersions: ['*'], operations: ['*'], resources: ['*']}"
    binding = f"{{name: policy.example.com, rules: [{rule}]}}"
    write(module.directory, "hooks/x.sh", f'echo "{{configVersion: v1, kubernetesValidating: [{binding}]}}"')
    assert (await load_unit(module.unit, settings, children, jq)).problems == ()
    (problem,) = (await load_unit(replace(module, name="a_b").unit, settings, children, jq)).problems
    assert "would be registered as 'a_b.policy.example.com', which the API server refuses as a name" in str(problem)


async def test_hooks_of_an_addon_answer_no_webhooks_and_know_that_they_are_of_one(
    module: Module, settings: HooksSettings, children: Children, jq: Jq
) -> None:
    write(module.directory, "hooks/a.sh", BEFORE_HELM)
    write(module.directory, "hooks/b.sh", "echo '{configVersion: v1, kubernetesValidating: []}'")
    catalog = await load_unit(replace(module.unit, hooks_of="web"), settings, children, jq)
    assert [hook.of_addon for hook in catalog.hooks] == [True]
    assert "hooks of addons answer no webhooks" in str(catalog.problems[0])


async def test_a_virtual_environment_is_used_for_asking_too(
    module: Module, settings: HooksSettings, children: Children, jq: Jq
) -> None:
    write(module.directory, "hooks/x.py", "echo '{configVersion: v1}'")
    python = write(module.directory, "hooks/venv/bin/python3", BEFORE_HELM)
    (hook,) = (await load_unit(module.unit, settings, children, jq)).hooks
    assert (hook.prefix, hook.config.lifecycle) == ((str(python),), {BindingType.BEFORE_HELM: 3})


async def test_a_bad_hook_of_a_module_is_a_problem_and_never_refuses_the_start(
    module: Module, settings: HooksSettings, children: Children, jq: Jq
) -> None:
    write(module.directory, "hooks/bad.sh", "echo '{configVersion: v1, beforeAll: 1}'")
    write(module.directory, "hooks/good.sh", BEFORE_HELM)
    catalog = await load_unit(module.unit, settings, children, jq)
    assert [hook.name for hook in catalog.hooks] == ["a/hooks/good.sh"]
    assert [problem.hook for problem in catalog.problems] == ["a/hooks/bad.sh"]
    assert "beforeAll is a forbidden property; only global hooks" in str(catalog.problems[0])


async def test_hooks_that_cannot_be_found_are_a_problem_of_the_module(
    module: Module, settings: HooksSettings, children: Children, jq: Jq
) -> None:
    (module.directory / "hooks").rmdir()
    (module.directory / "hooks").touch()
    catalog = await load_unit(module.unit, settings, children, jq)
    assert (catalog.hooks, [problem.hook for problem in catalog.problems]) == ((), ["a/hooks"])


async def test_a_bad_global_hook_refuses_the_start_unless_it_may_be_left_out(
    settings: HooksSettings, children: Children, jq: Jq, tmp_path: Path
) -> None:
    write(tmp_path, "global/hooks/bad.sh", BEFORE_HELM)
    write(tmp_path, "global/hooks/good.sh", "echo '{configVersion: v1, afterAll: 0}'")
    with pytest.raises(StartRefused, match=r"(?s)hook 'global/hooks/bad.sh': .*only hooks of a module"):
        await load_global(tmp_path / "global", settings, children, jq)
    catalog = await load_global(tmp_path / "global", replace(settings, on_bad="skip"), children, jq)
    assert [(hook.name, hook.module) for hook in catalog.hooks] == [("global/hooks/good.sh", "global")]
