"""Which modules a path means. Level: pure."""

from pathlib import Path

import pytest

from hookrunner.errors import BadInput
from hookrunner.modules.discovery import modules_in


def test_a_path_is_a_module_or_a_directory_of_modules(tmp_path: Path) -> None:
    (dns := tmp_path / "m" / "010-dns").mkdir(parents=True)
    (dns / "templates").mkdir()
    (tmp_path / "m" / ".git").mkdir()
    (tmp_path / "m" / "values.yaml").touch()
    assert modules_in(dns) == modules_in(tmp_path / "m") == [dns]
    (tmp_path / "m" / "no-module").mkdir()
    for path in (tmp_path / "nowhere", tmp_path / "m" / "no-module"):
        with pytest.raises(BadInput):
            modules_in(path)


def test_directories_that_the_start_would_reject_count_too(tmp_path: Path) -> None:
    (tmp_path / "010-definitions" / "crds").mkdir(parents=True)
    (tmp_path / "080_bad").mkdir()
    (tmp_path / "090-gone").symlink_to("nowhere")
    (tmp_path / "095-linked").symlink_to("010-definitions")
    assert [path.name for path in modules_in(tmp_path)] == ["010-definitions", "080_bad", "090-gone", "095-linked"]
