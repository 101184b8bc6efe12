"""Which kind of hook a file is taken for by tools that only know where it is. Level: pure."""

from pathlib import Path

import pytest

from hookrunner.hooks.discovery import HookFile, survey_by_location, with_location
from tests.hooks.test_discovery import tree


@pytest.mark.parametrize(
    ("files", "hook", "module"),
    [
        ((), "hooks/a.sh", ""),
        (("modules/readme",), "modules/a.sh", ""),
        ((), "modules/001-cert-manager/hooks/a.sh", "cert-manager"),
        ((), "modules/dns/hooks/sub/hooks/a.sh", "dns"),
        (("addons/dns/module.yaml",), "addons/dns/hooks/a.sh", "dns"),
        (("addons/dns/addon.yaml",), "addons/dns/hooks/a.sh", "dns"),
        (("addons/dns/enabled",), "addons/dns/hooks/a.sh", "dns"),
        (("addons/7-dns/Chart.yaml",), "addons/7-dns/hooks/a.sh", "dns"),
        (("chart/Chart.yaml", "chart/values.yaml"), "chart/hooks/a.sh", ""),
        ((), "global-hooks/a.sh", "global"),
        ((), "global-hooks/hooks/sub/a.sh", "global"),
    ],
)
def test_a_hook_belongs_to_the_module_around_it(tmp_path: Path, files: tuple[str, ...], hook: str, module: str) -> None:
    tree(tmp_path, f"{hook}*", *files)
    of_addon = any(file.endswith("addon.yaml") for file in files)
    expected = HookFile("a.sh", tmp_path / hook, module, of_addon=of_addon)
    assert with_location(HookFile("a.sh", tmp_path / hook)) == expected


def test_a_virtual_environment_of_a_module_holds_no_hooks_but_runs_them(tmp_path: Path) -> None:
    tree(tmp_path, "modules/a/hooks/x.py*", "modules/a/hooks/venv/bin/python3*", "hooks/venv/x.sh*")
    (hook,) = survey_by_location(tmp_path / "modules/a/hooks")
    assert isinstance(hook, HookFile)
    assert hook.prefix == (str(tmp_path / "modules/a/hooks/venv/bin/python3"),)
    assert len(survey_by_location(tmp_path / "hooks")) == 1
