"""How templates are rewritten to see only the cluster's API versions; Helm's messages before and after. Level: pure."""

import gzip
import io
import tarfile

from hookrunner.charts.helm_engine import is_syntax_error, pack, shortened, unpack_subcharts
from tests.tables import each


@each(
    ("before", "after"),
    [
        ('{{ .Capabilities.APIVersions.Has "a/v1" }}', '{{ (slice .Capabilities.APIVersions 5).Has "a/v1" }}'),
        ("{{ $.Capabilities.APIVersions }}", "{{ (slice $.Capabilities.APIVersions 5) }}"),
        (
            "{{if not ($root.x.Capabilities.APIVersions.Has `a`)}}",
            "{{if not ((slice $root.x.Capabilities.APIVersions 5).Has `a`)}}",
        ),
        ("{{ $caps.APIVersions.Has `a` }}", "{{ (slice $caps.APIVersions 5).Has `a` }}"),
        (
            "{{ with .Capabilities }}{{ .APIVersions.Has `a` }}",
            "{{ with .Capabilities }}{{ (slice .APIVersions 5).Has `a` }}",
        ),
        ("{{ .Values.APIVersions }}", "{{ .Values.APIVersions }}"),
        ("{{ (.Capabilities).APIVersions.Has `a` }}", "{{ (.Capabilities).APIVersions.Has `a` }}"),
        ("{{ .Capabilities.KubeVersion }}", "{{ .Capabilities.KubeVersion }}"),
    ],
)
def test_built_in_versions_are_cut_off(before: str, after: str) -> None:
    files = {"Chart.yaml": before.encode(), "charts/sub/templates/a.yaml": before.encode()}
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(pack(files, 5)))) as tar:
        texts = {member.name: file.read().decode() for member in tar if (file := tar.extractfile(member))}
    assert texts == {"chart/Chart.yaml": before, "chart/charts/sub/templates/a.yaml": after}


def test_packed_subcharts_become_directories_however_deep() -> None:
    inner = pack({"Chart.yaml": b"inner"}, 0)
    outer = pack({"Chart.yaml": b"outer", "charts/inner-1.tgz": inner}, 0)
    found = dict(unpack_subcharts({"a.tgz": b"kept", "charts/outer.tgz": outer}))
    assert found == {
        "a.tgz": b"kept",
        "charts/outer/Chart.yaml": b"outer",
        "charts/outer/charts/inner-1/Chart.yaml": b"inner",
    }


NESTED = """c/templates/x.yaml:1:43
  executing "c/templates/x.yaml" at <include "q" .>:
    error calling include:
c/templates/x.yaml:1:24
  executing "q" at <.b.c.d>:
    nil pointer evaluating interface {}.c"""


@each(
    ("message", "expected"),
    [
        ("execution error at (c/templates/x.yaml:1:6): need it", "c/templates/x.yaml:1:6: need it"),
        ("parse error at (c/templates/x.yaml:3): unclosed action", "c/templates/x.yaml:3: unclosed action"),
        (
            NESTED,
            'c/templates/x.yaml:1:43 at <include "q" .>: c/templates/x.yaml:1:24 at <.b.c.d>: '
            "nil pointer evaluating interface {}.c",
        ),
        (
            'template: c/x:1:6: executing "c/x" at <lookup "v1">: error calling lookup: no',
            'c/x:1:6 at <lookup "v1">: no',
        ),
        (
            "a:1:2 at <f>: a:3:4 at <g>: " + "a:5:6 at <h>: " * 9 + "end",
            "a:1:2 at <f>: a:3:4 at <g>: a:5:6 at <h>: … end",
        ),
        ("an unknown message", "an unknown message"),
    ],
)
def test_messages_are_one_line_with_the_place_first(message: str, expected: str) -> None:
    assert shortened(message) == expected


@each(
    ("message", "expected"),
    [
        ("execution error at (hello/x.yaml:1:6): no hunter2 here", "hello/x.yaml:1:6: no *** here"),
        (
            'template: hello/x:1:6: executing "hello/x" at <atoi .a>: error calling atoi: strconv.Atoi: parsing "12x": '
            "invalid syntax",
            "hello/x:1:6 at <atoi .a>: strconv.Atoi: parsing a text: invalid syntax",
        ),
        (
            "hello/x:1:6 at <.a>: range can't iterate over map[a:b c:1]",
            "hello/x:1:6 at <.a>: range can't iterate over this value",
        ),
        ("a: cannot unmarshal !!str `hunter...` into int", "a: cannot unmarshal !!str into int"),
        ("- at '/port': maximum: got 70,000, want 65,535", "- at '/port': maximum: got a number, want 65,535"),
        ("- at '/a': 'x y' does not match pattern '^z'", "- at '/a': the text does not match pattern '^z'"),
        ("hello/x.yaml, document 2: not YAML: hello", "hello/x.yaml, document 2: not YAML: ***"),
    ],
)
def test_no_message_repeats_a_value(message: str, expected: str) -> None:
    assert shortened(message, {"a": ["hunter2", "hello"]}) == expected


def test_syntax_errors_are_distinguished_from_errors_of_values() -> None:
    assert is_syntax_error("parse error at (c/templates/x.yaml:3): unclosed action")
    assert not is_syntax_error("execution error at (c/templates/x.yaml:1:6): need it")
