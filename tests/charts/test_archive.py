"""How templates are rewritten so that they see the cluster's API versions alone."""

import gzip
import io
import tarfile

import pytest

from hookrunner.charts.archive import flat, packed


@pytest.mark.parametrize(
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
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed(files, 5)))) as tar:
        texts = {member.name: file.read().decode() for member in tar if (file := tar.extractfile(member))}
    assert texts == {"chart/Chart.yaml": before, "chart/charts/sub/templates/a.yaml": after}


def test_packed_subcharts_become_directories_however_deep() -> None:
    inner = packed({"Chart.yaml": b"inner"}, 0)
    outer = packed({"Chart.yaml": b"outer", "charts/inner-1.tgz": inner}, 0)
    found = dict(flat({"a.tgz": b"kept", "charts/outer.tgz": outer}))
    assert found == {
        "a.tgz": b"kept",
        "charts/outer/Chart.yaml": b"outer",
        "charts/outer/charts/inner-1/Chart.yaml": b"inner",
    }
