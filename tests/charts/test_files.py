"""Which files a chart is made of, and what is told from them."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from hookrunner.charts import files
from hookrunner.errors import BadChart
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
    assert list(files.contents(directory)) == [".helmignore", "templates/a", "x/f"]


def test_a_chart_has_what_helmignore_leaves(write: Write) -> None:
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
    assert list(files.contents(directory)) == expected


def test_two_stars_are_refused(write: Write) -> None:
    with pytest.raises(BadChart, match=r"\.helmignore: `a/\*\*`"):
        files.contents(write({"Chart.yaml": CHART, ".helmignore": "a/**\n"}))


def test_the_fingerprint_is_of_names_and_contents(write: Write) -> None:
    directory = write({"templates/a": "1", "hooks/b": "1"})
    before = files.scan(directory).fingerprint
    write({"hooks/b": "2", "crds/c": "3"})
    os.utime(directory / "templates/a", (1, 1))
    assert files.scan(directory).fingerprint == before
    write({"templates/a": "2"})
    changed = files.scan(directory).fingerprint
    (directory / "templates/a").rename(directory / "templates/b")
    assert len({before, changed, files.scan(directory).fingerprint}) == 3


@pytest.mark.parametrize(
    ("template", "counts"), [("{{ .Values.x }}", False), ("{{ .Files.Get `hooks/b` }}", True), ("Files", False)]
)
def test_a_hook_of_a_chart_counts_only_if_a_template_reads_files(write: Write, template: str, counts: bool) -> None:
    directory = write({"Chart.yaml": CHART, "templates/a": template, "hooks/b": "1"})
    before = files.scan(directory).fingerprint
    write({"hooks/b": "22"})
    assert (files.scan(directory).fingerprint != before) is counts


def test_links_are_followed_but_not_round_in_circles(write: Write, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b").write_text("text")
    directory = write({"templates/a": "1"})
    (directory / "linked").symlink_to(tmp_path / "elsewhere")
    assert files.contents(directory)["linked/b"] == b"text"
    (directory / "circle").symlink_to(directory)
    with pytest.raises(BadChart, match="is a link to a directory that it lies in"):
        files.scan(directory)


@pytest.mark.parametrize("name", ["broken", "pipe"])
def test_what_is_no_file_is_refused_by_name(write: Write, name: str) -> None:
    directory = write({"templates/a": "1"})
    if name == "pipe":
        os.mkfifo(directory / "pipe")
    else:
        (directory / "broken").symlink_to(directory / "nowhere")
    with pytest.raises(BadChart, match=name):
        files.scan(directory)


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
def test_what_a_render_may_depend_on(write: Write, path: str, text: str, looks_up: bool, capable: bool) -> None:
    directory = write({"Chart.yaml": CHART, path: text})
    assert files.scan(directory).looks_up is looks_up
    assert files.scan(directory).reads_capabilities is capable


def test_packed_subcharts_are_searched_too(write: Write) -> None:
    directory = write({"Chart.yaml": CHART, "charts/README": ""})
    (directory / "charts" / "sub.tgz").write_bytes(packed("{{ lookup `v1` `Secret` `` `` }}"))
    assert files.scan(directory).looks_up
    assert not files.scan(directory).reads_capabilities


def test_a_broken_packed_subchart_is_named(write: Write) -> None:
    with pytest.raises(BadChart, match=r"charts/sub.tgz is not a packed chart"):
        files.scan(write({"Chart.yaml": CHART, "charts/sub.tgz": "no"}))


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
        files.scan(directory)


def test_a_file_whose_name_is_no_text_is_refused(write: Write) -> None:
    directory = write({"templates/a": "1"})
    (directory / os.fsdecode(b"\xff")).touch()
    with pytest.raises(BadChart, match=r"udcff': its name is no UTF-8"):
        files.scan(directory)
