"""The position of a value of a file that a JSON pointer names. Level: pure."""

from pathlib import Path

from hookrunner.linting.modules.module_remarks import in_yaml, unknown_keys
from tests.tables import each

TEXT = """\
a:
  b: [1, {c: 2}]
  k8s.io/x: y
d:
- e
"""


@each(
    ("pointer", "position"),
    [
        ("/a/b/1/c", (2, 11)),
        ("/a/k8s.io~1x", (3, 3)),
        ("/d/0", (5, 3)),
        ("/d/1", (4, 1)),
        ("/a/nothing", (1, 1)),
        ("/nothing", (1, 1)),
        ("", (1, 1)),
    ],
)
def test_a_json_pointer_leads_to_the_nearest_value(tmp_path: Path, pointer: str, position: tuple[int, int]) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(TEXT)
    assert in_yaml(file, pointer) == position


def test_an_unknown_key_is_found_also_in_a_list(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("# c\nrequires:\n  objects:\n  - {kind: A,\n     ns: b}\n")
    (remark,) = unknown_keys(file, ["requires.objects[0].ns; did you mean 'namespace'?"], "a.md")
    assert (remark.place, remark.code) == ((5, 6), "key-unknown")
    assert remark.text == "`requires.objects[0].ns` means nothing here and is ignored; did you mean 'namespace'?"
    assert in_yaml(file, "/nothing") == (1, 1)
