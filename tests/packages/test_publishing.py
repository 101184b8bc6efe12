"""The commands of docs/packaging-addons.md publish a package that is the same from every source.

Level: control plane."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from hookrunner.errors import PackageError
from hookrunner.metrics.names import Metrics
from hookrunner.packages.channels import parse_channel
from hookrunner.packages.cluster_source import ClusterSource
from hookrunner.packages.directory_source import DirectorySource
from hookrunner.packages.package import Package, parse_package
from hookrunner.packages.source_locations import ClusterLocation
from tests.controlplane.cluster import Cluster
from tests.kube.real import client_of
from tests.packages.places import CHART, DirectoryPlace

PAGE = (Path(__file__).parents[2] / "docs" / "packaging-addons.md").read_text()


def blocks(title: str, language: str) -> list[str]:
    """The code under a heading of the page."""
    section = re.split(r"^##+ ", PAGE.partition(f"## {title}\n")[2], flags=re.MULTILINE)[0]
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.DOTALL | re.MULTILINE)


LIST, DIGEST = blocks("Checksums", "sh")
(PUBLISH,) = blocks("In ConfigMaps and Secrets", "sh")
(CHANNEL,) = blocks("Channels", "yaml")
(PACKAGE_FILE,) = blocks("package.yaml", "yaml")


@pytest.fixture
def published(tmp_path: Path) -> Package:
    """A chart below `channels/`, with the list of checksums that the page's command writes."""
    place = DirectoryPlace(tmp_path / "channels")
    data = {"dashboards.json": b"[]", "package.yaml": PACKAGE_FILE.encode()}
    place.put_package(
        "coredns", "1.14.6", {"Chart.yaml": CHART["Chart.yaml"], "templates/a.yaml": b"kind: A\n", **data}
    )
    place.put_channel("stable", CHANNEL.encode())
    subprocess.run(["bash", "-euc", LIST], cwd=tmp_path, check=True)
    directory = tmp_path / "channels/packages/coredns/1.14.6"
    files = {file.relative_to(directory).as_posix(): file.read_bytes() for file in directory.rglob("*.*")}
    return parse_package("coredns", "1.14.6", files | {"SHA256SUMS": (directory / "SHA256SUMS").read_bytes()})


def test_the_pages_commands_write_the_list_and_the_digest(published: Package, tmp_path: Path) -> None:
    directory = tmp_path / "channels/packages/coredns/1.14.6"
    assert published.has_checksums
    digest = subprocess.run(["bash", "-euc", DIGEST], cwd=directory, capture_output=True, text=True, check=True).stdout
    assert published.digest == f"sha256:{digest.split()[0]}"


def test_the_pages_files_can_be_read(published: Package) -> None:
    assert parse_channel("stable", CHANNEL).unknown == ()
    assert (published.traits.data, published.traits.unknown) == (("dashboards.json",), ())


async def test_the_pages_objects_are_the_same_package(
    published: Package, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    for line in PUBLISH.splitlines():
        words = [str(tmp_path / word) if word.startswith("channels") else word for word in shlex.split(line)[1:]]
        words = [word.replace("--from-file=", f"--from-file={tmp_path}/") for word in words]
        cluster.kubectl(*(namespace if word == "addons" else word for word in words))
    async with client_of(cluster.kubeconfig, Metrics("")) as client:
        source = ClusterSource(ClusterLocation("ConfigMap", namespace), client)
        assert await source.read_channel("stable") == CHANNEL
        assert await source.list_versions("coredns") == ["1.14.6"]
        assert await source.read_package("coredns", "1.14.6") == published
    assert await DirectorySource(tmp_path / "channels").read_package("coredns", "1.14.6") == published


async def test_a_service_account_without_rights_is_told_which(cluster: Cluster, namespace: str) -> None:
    user = cluster.user("powerless", namespace)
    async with client_of(user.kubeconfig, Metrics("")) as client:
        source = ClusterSource(ClusterLocation("Secret", namespace), client)
        with pytest.raises(PackageError, match="needs the rights get, list and watch on secrets there") as raised:
            await source.read_package("coredns", "1.14.6")
    assert raised.value.reason == "Unreachable"
