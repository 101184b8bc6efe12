"""Which files a chart consists of, what they tell, a module's CRDs, and a release's digest. Level: pure."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from hookrunner.charts import chart_files
from hookrunner.charts.chart_files import read_crds
from hookrunner.errors import BadChart
from hookrunner.model.releases import Capabilities
from tests.charts.conftest import CHART, Write


def packed(text: str, kind: bytes = tarfile.REGTYPE) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        member = tarfile.TarInfo("sub/templates/s.yaml")
        member.type, member.linkname, member.size = kind, "nowhere", len(text)
        tar.addfile(member, io.BytesIO(text.encode()))
    return archive.getvalue()


def test_a_synthetic_chart_has_everything_but_some_directories(write: Write) -> None:
    everything = (
        "templates/a",
        "templates/hooks/b",
        "hooks/c",
        "lib/d",
        "x/docs/e",
        "x/f",
        "crds/g",
        "images/h",
        ".helmignore",
    )
    directory = write(dict.fromkeys(everything, "x"))
    assert list(chart_files.contents(directory)) == [".helmignore", "templates/a", "x/f"]


def test_helmignore_excludes_files(write: Write) -> None:
    names = (
        "a.txt",
        "b.bak",
        "keep/b.bak",
        "top",
        "deep/top",
        "out/x/y",
        "docs/z",
        "templates/.x",
        "templates/y",
        "lib",
    )
    rules = "# comment\n\n*.bak\n/top\nout/\ndeep/t?p\nlib/\n"
    directory = write({"Chart.yaml": CHART, ".helmignore": rules} | dict.fromkeys(names, "x"))
    expected = [".helmignore", "Chart.yaml", "a.txt", "docs/z", "lib", "templates/y"]
    assert list(chart_files.contents(directory)) == expected


def test_two_stars_are_refused(write: Write) -> None:
    with pytest.raises(BadChart, match=r"\.helmignore: `a/\*\*`"):
        chart_files.contents(write({"Chart.yaml": CHART, ".helmignore": "a/**\n"}))


def test_the_fingerprint_is_of_names_and_contents(write: Write) -> None:
    directory = write({"templates/a": "1", "hooks/b": "1"})
    before = chart_files.scan(directory).fingerprint
    write({"hooks/b": "2", "crds/c": "3"})
    os.utime(directory / "templates/a", (1, 1))
    assert chart_files.scan(directory).fingerprint == before
    write({"templates/a": "2"})
    changed = chart_files.scan(directory).fingerprint
    (directory / "templates/a").rename(directory / "templates/b")
    assert len({before, changed, chart_files.scan(directory).fingerprint}) == 3


@pytest.mark.parametrize(
    ("template", "counts"), [("{{ .Values.x }}", False), ("{{ .Files.Get `hooks/b` }}", True), ("Files", False)]
)
def test_a_hook_of_a_chart_counts_only_if_a_template_reads_files(write: Write, template: str, counts: bool) -> None:
    directory = write({"Chart.yaml": CHART, "templates/a": template, "hooks/b": "1"})
    before = chart_files.scan(directory).fingerprint
    write({"hooks/b": "22"})
    assert (chart_files.scan(directory).fingerprint != before) is counts


def test_links_are_followed_except_cycles(write: Write, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b").write_text("text")
    directory = write({"templates/a": "1"})
    (directory / "linked").symlink_to(tmp_path / "elsewhere")
    assert chart_files.contents(directory)["linked/b"] == b"text"
    (directory / "circle").symlink_to(directory)
    with pytest.raises(BadChart, match="is a link to a directory that contains it"):
        chart_files.scan(directory)


@pytest.mark.parametrize("name", ["broken", "pipe"])
def test_special_file_is_refused_by_name(write: Write, name: str) -> None:
    directory = write({"templates/a": "1"})
    if name == "pipe":
        os.mkfifo(directory / "pipe")
    else:
        (directory / "broken").symlink_to(directory / "nowhere")
    with pytest.raises(BadChart, match=name):
        chart_files.scan(directory)


@pytest.mark.parametrize(
    ("path", "text", "looks_up", "capable"),
    [
        ("templates/a.yaml", '{{ lookup "v1" "Secret" "" "" }}', True, False),
        ("templates/_h.tpl", "{{- define `x` }}{{ $c := .Capabilities }}{{ end }}", False, True),
        ("charts/sub/templates/_h.tpl", '{{ (lookup "v1" "Node" "" "").items }}', True, False),
        ("values.yaml", 'x: \'{{ lookup "v1" "Secret" "" "" }}\'', True, False),
        ("README.md", "We lookup names, and have Capabilities.", False, False),
        ("templates/a.yaml", "{{ .Values.lookups }}", False, False),
        ("charts/sub/Chart.yaml", "kubeVersion: '>=1.20'\n", False, True),
    ],
)
def test_scan_finds_lookups_and_capabilities(write: Write, path: str, text: str, looks_up: bool, capable: bool) -> None:
    directory = write({"Chart.yaml": CHART, path: text})
    assert chart_files.scan(directory).looks_up is looks_up
    assert chart_files.scan(directory).capabilities.any is capable


SERVED = Capabilities("v1.35.0", ("apps/v1", "apps/v1/Deployment", "v1"))


@pytest.mark.parametrize(
    ("text", "relevant"),
    [
        ('{{ .Capabilities.APIVersions.Has "apps/v1" }}', Capabilities("", ("apps/v1",))),
        ("{{ if not ($.Capabilities.APIVersions.Has `a/v1/B`) }}", Capabilities("", ())),
        ("{{ .Capabilities.KubeVersion.Version }}", Capabilities("v1.35.0", ())),
        (
            "{{ .Capabilities.KubeVersion }}"
            '{{ .Capabilities.APIVersions.Has "v1" }}{{ .Capabilities.APIVersions.Has "a" }}',
            Capabilities("v1.35.0", ("v1",)),
        ),
        ('{{ .Capabilities.APIVersions.Has "v1" }}{{ $c := .Capabilities }}', SERVED),
        ("{{ .Capabilities.APIVersions.Has .Values.kind }}", SERVED),
        ('{{ .Capabilities.APIVersions.Has (printf "%s/v1" "apps") }}', SERVED),
        ("{{ range .Capabilities.APIVersions }}{{ end }}", SERVED),
        ('{{ "apps/v1" | .Capabilities.APIVersions.Has }}', SERVED),
        ("{{ with .Capabilities }}{{ .KubeVersion }}{{ end }}", SERVED),
        ("{{ .Capabilities.KubeVersions }}", SERVED),
        ("{{ .Values.KubeVersion }}", None),
    ],
)
def test_only_what_a_chart_asks_for_is_relevant(write: Write, text: str, relevant: Capabilities | None) -> None:
    directory = write({"Chart.yaml": CHART, "templates/a.yaml": text})
    assert chart_files.scan(directory).capabilities.relevant(SERVED) == relevant


def test_packed_subcharts_are_searched_too(write: Write) -> None:
    directory = write({"Chart.yaml": CHART, "charts/README": ""})
    (directory / "charts" / "sub.tgz").write_bytes(packed("{{ lookup `v1` `Secret` `` `` }}"))
    assert chart_files.scan(directory).looks_up
    assert not chart_files.scan(directory).capabilities.any


def test_a_broken_packed_subchart_is_named(write: Write) -> None:
    with pytest.raises(BadChart, match=r"charts/sub.tgz is not a packed chart"):
        chart_files.scan(write({"Chart.yaml": CHART, "charts/sub.tgz": "no"}))


@pytest.mark.parametrize(
    ("archive", "problem"),
    [
        (packed("", tarfile.SYMTYPE), "is not a packed chart: .*nowhere"),
        (packed("x" * (5 << 20) + "x"), "sub/templates/s.yaml is larger than Helm loads"),
    ],
)
def test_a_packed_subchart_that_helm_does_not_load_is_named(write: Write, archive: bytes, problem: str) -> None:
    directory = write({"Chart.yaml": CHART, "charts/README": ""})
    (directory / "charts" / "sub.tgz").write_bytes(archive)
    with pytest.raises(BadChart, match=f"charts/sub.tgz:? {problem}"):
        chart_files.scan(directory)


def test_a_file_whose_name_is_no_text_is_refused(write: Write) -> None:
    directory = write({"templates/a": "1"})
    (directory / os.fsdecode(b"\xff")).touch()
    with pytest.raises(BadChart, match=r"udcff': its name is not UTF-8"):
        chart_files.scan(directory)


CRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: {name}\n"


def test_crds_are_read_from_every_file_except_docs(write: Write) -> None:
    one, two, three = (CRD.format(name=name) for name in "abc")
    files = {
        "crds/z.yaml": f"---\n{one}---\n---\n{two}",
        "crds/deep/y.yaml": three,
        "crds/doc-x.yaml": "no: crd",
        "crds/x.md": "",
    }
    directory = write(files | {"crds/_x.yaml": "a"})
    assert [crd["metadata"]["name"] for crd in read_crds(directory, ("doc-", "_"))] == ["c", "a", "b"]


def test_other_prefixes_can_be_skipped(write: Write) -> None:
    assert read_crds(write({"crds/z-a.yaml": "no: crd"}), ["z-"]) == []


def test_a_module_without_crds_has_none(write: Write) -> None:
    assert read_crds(write({}), ()) == []


@pytest.mark.parametrize(
    "text", [CRD.replace("/v1", "/v1beta1"), "kind: Secret\n", "text", CRD.replace("name:", "label:")]
)
def test_document_that_is_not_a_crd_is_refused_by_file_and_number(write: Write, text: str) -> None:
    with pytest.raises(BadChart, match=r"crds/a\.yaml, document 2: only CustomResourceDefinition of apiextensions"):
        read_crds(write({"crds/a.yaml": CRD + "---\n" + text}), ())


def test_bad_yaml_is_refused_by_file_and_document(write: Write) -> None:
    with pytest.raises(BadChart, match=r"crds/a\.yaml, document 2: not YAML: line 6"):
        read_crds(write({"crds/a.yaml": CRD + "---\na: ]\n"}), ())
