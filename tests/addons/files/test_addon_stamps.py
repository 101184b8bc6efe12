"""Which changes of an addon's directory count. Level: pure."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hookrunner.addons.files.addon_stamps import stamp_of, stamps_of
from hookrunner.errors import StartRefused
from tests.tables import each
from tests.trees import write_files

FILES = {"addon.yaml": "object: {kind: A}\n", "hooks/lib/a.sh": "x", "channels/stable": "", "README.md": "x"}


def write(path: str, text: str) -> Callable[[Path], object]:
    return lambda directory: write_files(directory, {path: text})


@each(
    ("change", "counts"),
    [
        (write("addon.yaml", "object: {kind: B}\n"), True),
        (write("values.yaml", ""), True),
        (write("openapi/spec.yaml", "type: object\n"), True),
        (write("crds/a.yaml", ""), True),
        (write("hooks/lib/a.sh", "y"), True),
        (lambda directory: (directory / "hooks/lib/a.sh").chmod(0o755), True),
        (lambda directory: (directory / "hooks/lib/a.sh").unlink(), True),
        (write("channels/stable", "manifests: []\n"), False),
        (write("channels/packages/a/1.0/x.yaml", ""), False),
        (write("README.md", "y"), False),
        (write("hooks/lib/__pycache__/a.cpython-311.pyc", "y"), False),
    ],
)
def test_what_is_read_once_counts(change: Callable[[Path], object], counts: bool, tmp_path: Path) -> None:
    write_files(tmp_path / "a", FILES)
    before = stamp_of(tmp_path / "a")
    change(tmp_path / "a")
    assert (stamp_of(tmp_path / "a") != before) is counts


def test_link_is_what_it_leads_to_and_one_that_dangles_has_a_stamp(tmp_path: Path) -> None:
    write_files(tmp_path / "real", FILES)
    (tmp_path / "addons").mkdir()
    for name, to in (("a", "real"), ("b", "none")):
        (tmp_path / "addons" / name).symlink_to(tmp_path / to)
    assert [path.name for path in stamps_of([tmp_path / "addons"])] == ["a", "b"]
    assert stamp_of(tmp_path / "addons/a") == stamp_of(tmp_path / "real")


def test_directory_that_cannot_be_read_has_no_stamps(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match="does not exist"):
        stamps_of([tmp_path / "none"])
