"""Which modules a path means."""

from pathlib import Path

import pytest

from hookrunner.errors import BadInput
from hookrunner.modules.paths import modules_in


def test_a_path_is_a_module_or_a_directory_of_modules(tmp_path: Path) -> None:
    (dns := tmp_path / "m" / "010-dns").mkdir(parents=True)
    (dns / "templates").mkdir()
    (tmp_path / "m" / "no-module").mkdir()
    assert modules_in(dns) == modules_in(tmp_path / "m") == [dns]
    for path in (tmp_path / "nowhere", tmp_path / "m" / "no-module"):
        with pytest.raises(BadInput):
            modules_in(path)
