"""Which Go sources are hooks that are compiled into a program, and what is said of the others. Level: pure."""

from pathlib import Path

import pytest

from hookrunner.hooks import discovery
from hookrunner.hooks.discovery import compiled_global, compiled_in_module, find, find_in_module

HOOK = """\
package hooks

import (
    "github.com/flant/addon-operator/pkg/module_manager/go_hook"
    "github.com/flant/addon-operator/sdk"
)

var _ = sdk.RegisterFunc(&go_hook.HookConfig{OnStartup: &go_hook.OrderedConfig{Order: 1}}, run)
"""
OLD = HOOK.replace("sdk.RegisterFunc(", "sdk.Register(")
NAMED = HOOK.replace('"github.com/flant/addon-operator/sdk"', 'op "github.com/flant/addon-operator/sdk"').replace(
    "sdk.Register", "op.Register"
)
COMMON = """\
package hooks

import "github.com/deckhouse/deckhouse/go_lib/hooks/copy_custom_certificate"

var _ = copy_custom_certificate.RegisterHook("prometheus")
"""
BATCH = """\
package main

import (
    "github.com/deckhouse/module-sdk/pkg"
    "github.com/deckhouse/module-sdk/pkg/registry"
)

var _ = registry.RegisterFunc[*pkg.HookInput](config, handle)
"""
HELPER = """\
package hooks

import "github.com/flant/addon-operator/sdk"

// sdk.RegisterFunc(nil, nil) is done in hook.go
/* var _ = sdk.RegisterFunc(nil, nil) */
func size() int { return len("a // b") }
"""


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("hook.go", HOOK, "compiled"),
        ("hook.go", OLD, "compiled"),
        ("hook.go", NAMED, "compiled"),
        ("hook.go", COMMON, "compiled"),
        ("hook.go", BATCH, "batch"),
        ("hook_test.go", HOOK, "other"),
        ("helper.go", HELPER, "other"),
        ("server.go", 'package main\nimport "net/http"\nfunc init() { mux.Register("/") }\n', "other"),
        ("run.go", "#!/usr/bin/env gorun\n" + HOOK, "script"),
        ("empty.go", "", "other"),
    ],
)
def test_a_hook_registers_with_an_sdk(tmp_path: Path, name: str, text: str, kind: str) -> None:
    (tmp_path / name).write_text(text)
    assert discovery.kind_of(tmp_path / name) == kind


def test_what_cannot_be_read_is_no_hook(tmp_path: Path) -> None:
    assert discovery.kind_of(tmp_path / "nothing.go") == "other"


def write(top: Path, files: dict[str, str | bytes], mode: int = 0o644) -> Path:
    for name, content in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
    return top


@pytest.mark.parametrize("mode", [0o644, 0o755])
def test_those_of_a_module_are_named_wherever_they_are_and_never_executed(tmp_path: Path, mode: int) -> None:
    write(
        tmp_path, {"hooks/a.go": HOOK, "hooks/sub/b.go": COMMON, "hooks/a_test.go": HOOK, "hooks/lib/c.go": HOOK}, mode
    )
    assert compiled_in_module(tmp_path) == ("hooks/a.go", "hooks/sub/b.go")
    assert find_in_module("m", tmp_path) == []


def test_a_script_and_a_program_may_have_any_name(tmp_path: Path) -> None:
    write(tmp_path, {"a.go": "#!/usr/bin/env gorun\n", "b.go": b"\x7fELF"}, 0o755)
    assert [file.name for file in find(tmp_path)] == ["a.go", "b.go"]


@pytest.mark.parametrize("inner", ["", "hooks/"])
def test_global_ones_are_named(tmp_path: Path, inner: str) -> None:
    write(tmp_path, {f"{inner}a.go": HOOK, f"{inner}helper.go": HELPER})
    assert compiled_global(tmp_path) == (f"{inner}a.go",)


def test_a_module_without_hooks_has_none(tmp_path: Path) -> None:
    assert compiled_in_module(tmp_path) == ()


def test_sources_of_a_batch_hook_miss_nothing_beside_their_program(tmp_path: Path) -> None:
    write(tmp_path, {"hooks/src/a.go": BATCH, "hooks/b.go": HOOK})
    assert compiled_in_module(tmp_path) == ("hooks/b.go", "hooks/src/a.go")
    write(tmp_path, {"hooks/batch": b"\x7fELF"}, 0o755)
    assert compiled_in_module(tmp_path) == ("hooks/b.go",)


def test_no_advice_says_to_make_a_go_source_executable(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    find(write(tmp_path, {"a.go": HOOK, "a_test.go": HOOK, "helper.go": HELPER, "main.go": "package main"}))
    lines = capfd.readouterr().err.splitlines()
    assert [line for line in lines if "chmod" in line] == []
    assert len(lines) == 1
    assert "hook is compiled into another program and never runs here" in lines[0]
    assert f"path={tmp_path}/a.go" in lines[0]
