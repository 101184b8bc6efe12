"""The settings of modules: where they are looked for under which name, and how their texts are read. Level: pure."""

import os
from pathlib import Path

import pytest

from hookrunner.errors import BadSetting
from hookrunner.settings import HooksSettings, ModulesSettings, load
from tests.tables import each

OURS, SHELL, ADDON = "hookrunner", "shell-operator", "addon-operator"


def modules(flags: dict[str, str], program: str = OURS, environ: dict[str, str] | None = None) -> ModulesSettings:
    return load(flags, program, environ or {}).modules


def test_modules_and_global_hooks_are_those_of_the_working_directory_if_it_has_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (modules({}).directories, modules({}).global_hooks) == ((), None)
    for name in ("modules", "global-hooks"):
        Path(name).mkdir()
    assert not modules({}).on, "empty directories do not count"
    for name in ("modules", "global-hooks"):
        Path(name, "one").mkdir()
    assert (modules({}).directories, modules({}).global_hooks) == ((tmp_path / "modules",), tmp_path / "global-hooks")
    assert modules({"modules-dir": ""}).directories == modules({}, SHELL).directories == ()
    assert modules({}, OURS, {"HOOKRUNNER_MODULES_DIR": ":"}).directories == ()


def test_a_directory_that_cannot_be_read_is_not_taken_for_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("modules").symlink_to("modules")
    Path("global-hooks").touch()
    assert (modules({}).directories, modules({}).global_hooks) == ((tmp_path / "modules",), None)


def test_under_addon_operators_name_its_default_directories_are_used() -> None:
    settings = modules({}, ADDON)
    assert settings.directories == (Path("modules").absolute(),)
    assert settings.global_hooks == Path("global-hooks").absolute()


def test_several_directories_have_colons_between_them() -> None:
    assert modules({"modules-dir": "/a::/b:"}).directories == (Path("/a"), Path("/b"))


@each(
    ("environ", "program", "directory"),
    [
        ({"MODULES_DIR": "/doc"}, OURS, "/doc"),
        ({"MODULES_DIR": "/doc", "ADDON_OPERATOR_MODULES_DIR": "/read"}, ADDON, "/read"),
        ({"ADDON_OPERATOR_MODULES_DIR": "/read", "HOOKRUNNER_MODULES_DIR": "/ours"}, ADDON, "/ours"),
    ],
)
def test_a_variable_counts_with_its_prefix_before_it_counts_without(
    environ: dict[str, str], program: str, directory: str
) -> None:
    assert modules({}, program, environ).directories == (Path(directory),)


@each(
    ("environ", "directory"),
    [
        ({}, "/shell"),
        ({"GLOBAL_HOOKS_DIR": ""}, "/shell"),
        ({"GLOBAL_HOOKS_DIR": "/doc"}, "/doc"),
        ({"ADDON_OPERATOR_GLOBAL_HOOKS_DIR": "/read"}, "/read"),
    ],
)
def test_an_addon_operators_global_hooks_may_be_named_as_a_shell_operators_hooks(
    environ: dict[str, str], directory: str
) -> None:
    settings = load({}, ADDON, {"SHELL_OPERATOR_HOOKS_DIR": "/shell"} | environ)
    assert settings.modules.global_hooks == Path(directory)
    assert (settings.hooks.directory, settings.hooks.optional) == (Path("hooks").absolute(), True)
    assert settings.hooks.environ["SHELL_OPERATOR_HOOKS_DIR"] == "/shell"


@each(
    ("flags", "optional"),
    [
        ({"modules-dir": ""}, False),
        ({"modules-dir": "/m"}, True),
        ({"modules-dir": "", "global-hooks-dir": "/g"}, True),
        ({"modules-dir": "/m", "hooks-dir": "/h"}, False),
    ],
)
def test_the_default_hooks_directory_may_be_missing_where_there_are_modules(
    flags: dict[str, str], optional: bool
) -> None:
    assert load(flags, OURS, {}).hooks.optional is optional
    assert HooksSettings().optional is False


@each(
    ("flags", "program", "environ", "directory"),
    [
        ({}, OURS, {}, "hooks"),
        ({"modules-dir": ":"}, OURS, {}, "hooks"),
        ({"global-hooks-dir": "/g"}, OURS, {}, "hooks"),
        ({"modules-dir": "/m"}, OURS, {}, None),
        ({}, OURS, {"MODULES_DIR": "/m"}, None),
        ({"addons-dir": "/a"}, OURS, {}, None),
        ({"cloud-provider": "p"}, OURS, {}, None),
        ({"addons-dir": "/a", "sandbox": "true"}, OURS, {}, "hooks"),
        ({"addons-dir": "/a"}, SHELL, {}, "hooks"),
        ({"addons-dir": "/a", "compat": "upstream"}, OURS, {}, "hooks"),
        ({"addons-dir": "/a"}, OURS, {"HOOKRUNNER_DEFAULT_HOOKS_DIR": "/hooks"}, "/hooks"),
        ({"addons-dir": "/a"}, OURS, {"HOOKRUNNER_DEFAULT_HOOKS_DIR": ""}, None),
        ({"addons-dir": "/a", "hooks-dir": "h"}, OURS, {}, "h"),
        ({"addons-dir": "/a"}, OURS, {"SHELL_OPERATOR_HOOKS_DIR": "/h"}, "/h"),
        ({"hooks-dir": ":"}, OURS, {"HOOKRUNNER_DEFAULT_HOOKS_DIR": "/hooks"}, None),
        ({}, SHELL, {"SHELL_OPERATOR_HOOKS_DIR": "/h", "HOOKRUNNER_DEFAULT_HOOKS_DIR": "/hooks"}, "/h"),
        ({}, ADDON, {"SHELL_OPERATOR_HOOKS_DIR": "/h", "HOOKRUNNER_DEFAULT_HOOKS_DIR": "/hooks"}, "/hooks"),
    ],
)
def test_a_start_that_names_something_else_takes_no_hooks_that_lie_around(
    flags: dict[str, str], program: str, environ: dict[str, str], directory: str | None
) -> None:
    expected = Path(directory).absolute() if directory else None
    assert load(flags, program, environ).hooks.directory == expected


def test_default_directories_are_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("modules/one").mkdir(parents=True)
    default, named = load({}, OURS, {}), load({"hooks-dir": "hooks", "modules-dir": "modules"}, OURS, {})
    assert (default.hooks.default, default.modules.default) == (True, True)
    assert (named.hooks.default, named.modules.default) == (False, False)


@each(
    ("program", "text", "labels"),
    [
        (OURS, "", {"heritage": "hookrunner"}),
        (ADDON, "", {"heritage": "addon-operator"}),
        (ADDON, "team=a,x.io/y=", {"heritage": "addon-operator", "team": "a", "x.io/y": ""}),
        (OURS, "heritage=deckhouse,team=a", {"heritage": "deckhouse", "team": "a"}),
    ],
)
def test_extra_labels_always_include_heritage(program: str, text: str, labels: dict[str, str]) -> None:
    assert modules({}, program, {"ADDON_OPERATOR_CRD_EXTRA_LABELS": text}).extra_labels == labels


def test_all_four_extenders_apply_unless_some_are_named() -> None:
    assert modules({}).extenders == ("Static", "DynamicallyEnabled", "KubeConfig", "ScriptEnabled")
    assert modules({"applied-module-extenders": "KubeConfig,Static"}).extenders == ("KubeConfig", "Static")


@each(
    ("flag", "text", "field", "value"),
    [
        ("crd-filters", "draft-", "crd_filters", ("draft-",)),
        ("helm-timeout", "5m", "helm_timeout", 300.0),
        ("helm-ignore-release", "own,other", "ignored_releases", ("own", "other")),
        ("helm-driver", "configmaps", "helm_driver", "configmap"),
        ("config-secret", "passwords", "config_secret", "passwords"),
        ("render-memory", "1Gi", "render_memory", 1 << 30),
        ("render-memory", "1048576", "render_memory", 1 << 20),
        ("module-concurrency", "1", "concurrency", 1),
    ],
)
def test_texts_of_settings_are_converted(flag: str, text: str, field: str, value: object) -> None:
    assert getattr(modules({flag: text}), field) == value


@each(
    ("flag", "text", "allowed"),
    [
        ("applied-module-extenders", "Static,Static", "each once"),
        ("applied-module-extenders", "Kubeconfig", "KubeConfig"),
        ("crd-extra-labels", "team", "KEY=VALUE"),
        ("crd-extra-labels", "team=a b", "KEY=VALUE"),
        ("helm-driver", "memory", "secret or configmap"),
        ("config-map", "", "name of an object"),
        ("config-map", "Values", "name of an object"),
        ("config-secret", "a/b", "name of an object"),
        ("render-memory", "1G", "512Mi"),
        ("module-concurrency", "0", "at least 1"),
    ],
)
def test_invalid_settings_are_refused_with_the_allowed_values(flag: str, text: str, allowed: str) -> None:
    with pytest.raises(BadSetting, match=f"--{flag}: .*it takes .*{allowed}"):
        modules({flag: text})


def test_concurrency_and_timeouts_have_their_defaults() -> None:
    settings = ModulesSettings()
    assert (settings.patience, settings.enabled_timeout, settings.render_timeout) == (30, 30, 60)
    assert (settings.helm_timeout, settings.history_max, settings.unnumbered_order) == (1200, 10, 1)
    assert (settings.render_memory, settings.concurrency) == (512 << 20, 4 * (os.cpu_count() or 1))
