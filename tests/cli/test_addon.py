"""`hookrunner addon …` on files: what the commands print, and how they end. Level: pure."""

import re
import subprocess
from pathlib import Path

import orjson
import pytest
import yaml

from tests.controlplane.tools import find_tool
from tests.fakes.command_line import Command, command
from tests.oracles.distribution import running_registry
from tests.packages.oci.registry_server import USER
from tests.packages.signatures.openssl import make_key
from tests.pages import DOCS
from tests.tables import each

__all__ = ["command"]

ADDONS = str(Path(__file__).parents[2] / "addons")
COREDNS = f"{ADDONS}/coredns/example.yaml"


def test_list_names_addons_and_rejected_directories(command: Command, tmp_path: Path) -> None:
    command("new", "addon", "web", "--dir", str(tmp_path))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/addon.yaml").write_text("object: {}\n")
    listed = command("addon", "list", "--addons-dir", str(tmp_path))
    assert [line.split()[:2] for line in listed.out.splitlines()] == [["ADDON", "KIND"], ["web", "Web"]]
    assert "rejected: broken: " in listed.err
    assert "object.kind is required" in listed.err


def test_versions_say_which_channel_leads_where(command: Command) -> None:
    shown = command("addon", "versions", "coredns", "--addons-dir", ADDONS, "-o", "json")
    offer = orjson.loads(shown.out)
    assert set(offer["channels"]) >= {"stable", "next"}
    assert offer["channels"]["stable"] in [version["version"] for version in offer["versions"] if version["fits"]]


def test_old_cluster_fits_no_version(command: Command) -> None:
    shown = command("addon", "versions", "coredns", "--addons-dir", ADDONS, "--kube-version", "1.20", "-o", "json")
    assert not any(version["fits"] for version in orjson.loads(shown.out)["versions"])


def test_crd_is_printed_as_kubectl_takes_it(command: Command) -> None:
    shown = command("addon", "crd", "coredns", "--addons-dir", ADDONS)
    definition = yaml.safe_load(shown.out)
    assert definition["spec"]["names"]["categories"] == ["cluster-addons"]


@pytest.mark.slow
def test_render_builds_coredns_with_its_hook(command: Command, tmp_path: Path) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "kubernetes", "namespace": "default"}}
    cluster = tmp_path / "cluster.json"
    cluster.write_bytes(orjson.dumps(service | {"spec": {"clusterIP": "10.96.0.1"}}))
    rendered = command("addon", "render", COREDNS, "--addons-dir", ADDONS, "--given", str(cluster), "-o", "json")
    assert (rendered.code, rendered.err) == (0, "")
    objects = {(obj["kind"], obj["metadata"]["name"]): obj for obj in orjson.loads(rendered.out)["items"]}
    assert objects["Service", "kube-dns"]["spec"]["clusterIP"] == "10.96.0.10"
    labels = objects["Deployment", "coredns"]["metadata"]["labels"]
    assert (labels["addons.x-k8s.io/coredns"], labels["k8s-app"]) == ("default", "kube-dns")


@pytest.mark.slow
def test_package_of_the_page_leads_to_the_same_objects_in_each_form(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{find_tool('kubectl').parent}:/usr/bin:/bin")
    page = (DOCS / "packaging-addons.md").read_text()
    (block,) = re.findall(r"^## The same package in each form\n.*?^```sh\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    addons = tmp_path / "addons"
    command("new", "addon", "web", "--dir", str(addons))
    subprocess.run(["bash", "-euc", block], cwd=tmp_path, check=True)
    example = yaml.safe_load((addons / "web/example.yaml").read_text())
    outputs = []
    for version in ("0.1.0", "0.2.0", "0.3.0"):
        (file := tmp_path / "web.yaml").write_bytes(orjson.dumps(example | {"spec": {"version": version}}))
        outputs.append(command("addon", "render", str(file), "--addons-dir", str(addons)))
    assert {(output.code, output.err) for output in outputs} == {(0, "")}
    assert outputs[0].out == outputs[1].out == outputs[2].out != ""
    assert "0.3.0" in (addons / "web/channels/stable").read_text()


@pytest.mark.slow
def test_diff_ends_with_3_until_nothing_would_change(command: Command, tmp_path: Path) -> None:
    command("new", "addon", "web", "--dir", str(tmp_path))
    render = ("addon", "render", str(tmp_path / "web/example.yaml"), "--addons-dir", str(tmp_path))
    changed = command(*render, "--diff")
    assert changed.code == 3
    assert "+kind: Deployment" in changed.out
    (objects := tmp_path / "objects.yaml").write_text(command(*render).out)
    same = command(*render, "--given", str(objects), "--diff")
    assert (same.code, same.out) == (0, "")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"version": "0.0.1"}, "0.0.1 does not exist"),
        ({"channel": "nope"}, "channel 'nope'"),
        ({"dnsIP": 5}, "dnsIP must be of type string"),
        ({"timeout": "soon"}, "spec.timeout cannot be 'soon'"),
    ],
)
def test_refused_instance_ends_with_an_error(
    spec: dict[str, object], message: str, command: Command, tmp_path: Path
) -> None:
    instance = {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": "CoreDNS", "metadata": {"name": "a"}, "spec": spec}
    path = tmp_path / "instance.yaml"
    path.write_bytes(orjson.dumps(instance))
    rendered = command("addon", "render", str(path), "--addons-dir", ADDONS)
    assert rendered.code == 1
    assert message in rendered.err
    assert rendered.out == ""


@pytest.mark.slow
def test_patches_are_judged_offline_as_by_a_running_hookrunner(command: Command, tmp_path: Path) -> None:
    about = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "metrics-server"}}
    instance = yaml.safe_load(Path(f"{ADDONS}/metrics-server/example.yaml").read_text())
    instance["spec"] = {"patches": [about | {"spec": {"paused": True}}]}
    (path := tmp_path / "instance.yaml").write_bytes(orjson.dumps(instance))
    modes = [(), ("--addon-patches=none",), ("--addon-patches=all",)]
    rendered = [command("addon", "render", str(path), "--addons-dir", ADDONS, *mode) for mode in modes]
    assert [shown.code for shown in rendered] == [1, 1, 0]
    assert "does not list spec.paused" in rendered[0].err
    assert "applies no patches" in rendered[1].err


def test_cluster_that_is_too_old_is_refused(command: Command) -> None:
    rendered = command("addon", "render", COREDNS, "--addons-dir", ADDONS, "--kube-version", "1.20")
    assert (rendered.code, rendered.out) == (1, "")
    assert "needs Kubernetes >=1.28, the cluster has v1.20.0" in rendered.err


def test_unknown_kind_is_answered_with_known_ones(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "instance.yaml"
    path.write_text("apiVersion: addons.x-k8s.io/v1alpha1\nkind: CoreDNSS\nmetadata: {name: a}\n")
    rendered = command("addon", "render", str(path), "--addons-dir", ADDONS)
    assert rendered.code == 2
    assert "did you mean 'addons.x-k8s.io/v1alpha1 CoreDNS'?" in rendered.err


@pytest.mark.slow
def test_failed_case_is_shown_and_updated(command: Command, tmp_path: Path) -> None:
    command("new", "addon", "web", "--dir", str(tmp_path))
    expected = tmp_path / "web/tests/greeting.out.yaml"
    right = expected.read_text()
    expected.write_text(right.replace("Good morning", "Good night"))
    failed = command("addon", "test", str(tmp_path), "-k", "greeting")
    assert failed.code == 1
    assert "+    Good morning" in failed.out
    assert command("addon", "test", str(tmp_path), "-k", "greeting", "--update").code == 0
    assert list(yaml.safe_load_all(expected.read_text())) == list(yaml.safe_load_all(right))


def test_directory_without_addons_is_bad_usage(command: Command, tmp_path: Path) -> None:
    tested = command("addon", "test", str(tmp_path))
    assert tested.code == 2
    assert "there is no addon.yaml in it" in tested.err


def test_lint_ends_with_1_for_what_would_be_refused(command: Command, tmp_path: Path) -> None:
    command("new", "addon", "web", "--dir", str(tmp_path))
    assert command("addon", "lint", str(tmp_path), "--strict").code == 0
    (tmp_path / "web/channels/stable").write_text("manifests:\n- version: 0.2.0\n")
    linted = command("addon", "lint", str(tmp_path), "-o", "json")
    assert linted.code == 1
    [finding] = orjson.loads(linted.out)
    assert (finding["code"], finding["line"]) == ("package-missing", 2)


def test_versions_name_packages_that_cannot_be_used(command: Command, tmp_path: Path) -> None:
    command("new", "addon", "web", "--dir", str(tmp_path))
    broken = tmp_path / "web/channels/packages/web/0.2.0"
    broken.mkdir()
    (broken / "package.yaml").write_text("kubernetes: five\n")
    (tmp_path / "web/channels/next").write_text("manifests: 5\n")
    shown = command("addon", "versions", "web", "--addons-dir", str(tmp_path))
    rows = {line.split()[0]: line for line in shown.out.splitlines()}
    assert "invalid" in rows["0.2.0"]
    assert "stable" in rows["0.1.0"]
    assert "package web 0.2.0" in shown.err
    assert "channel 'next': manifests must be of type array" in shown.err


def test_hook_that_fails_refuses_the_instance(command: Command, tmp_path: Path) -> None:
    command("new", "addon", "web", "--dir", str(tmp_path))
    hook = tmp_path / "web/hooks/nodes.sh"
    hook.write_text(hook.read_text().replace("# The same", "echo no nodes today >&2; exit 3\n# The same"))
    rendered = command("addon", "render", str(tmp_path / "web/example.yaml"), "--addons-dir", str(tmp_path))
    assert (rendered.code, rendered.out) == (1, "")
    assert "hook nodes.sh" in rendered.err
    assert "| no nodes today" in rendered.err


def test_images_are_those_of_the_objects_and_their_copies_in_the_private_registry(command: Command) -> None:
    files = [f"{ADDONS}/{name}/example.yaml" for name in ("coredns", "metrics-server")]
    listed = command("addon", "images", *files, "--addons-dir", ADDONS)
    images = listed.out.splitlines()
    assert [image.partition(":")[0] for image in images] == [
        "registry.k8s.io/coredns/coredns",
        "registry.k8s.io/metrics-server/metrics-server",
    ]
    image, instances = images[1], ["metrics-server.kube-system.default"]
    copied = command("addon", "images", files[1], "--addons-dir", ADDONS, "--private-registry", "r.local:5000/m")
    assert copied.out == f"{image} r.local:5000/m/{image.rpartition('/')[2]}\n"
    as_json = command("addon", "images", files[1], "--addons-dir", ADDONS, "-o", "json")
    assert orjson.loads(as_json.out) == {"images": [{"image": image, "copy": "", "instances": instances}]}


def test_two_images_with_one_copy_are_refused(command: Command, tmp_path: Path) -> None:
    assert command("new", "addon", "web", "--dir", str(tmp_path)).code == 0
    package = tmp_path / "web/channels/packages/web/0.1.0"
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: a, image: %s/tool:v1}]}}\n"
    for name in ("a", "b"):
        (package / f"{name}.yaml").write_text(pod % (name, f"quay.io/{name}"))
    example = str(tmp_path / "web/example.yaml")
    ended = command("addon", "images", example, "--addons-dir", str(tmp_path), "--private-registry", "r.local")
    assert (ended.code, "quay.io/a/tool:v1 and quay.io/b/tool:v1 would both be r.local/tool:v1" in ended.err) == (
        2,
        True,
    )


def test_seal_prints_what_it_wrote_and_the_digests(command: Command, tmp_path: Path) -> None:
    assert command("new", "addon", "web", "--dir", str(tmp_path)).code == 0
    make_key(tmp_path / "release.key")
    seal = ("addon", "seal", str(tmp_path / "web/channels"), "--key", str(tmp_path / "release.key"))
    package, channel = command(*seal).out.splitlines()
    assert package.startswith("web 0.1.0: wrote SHA256SUMS and SHA256SUMS.sig: sha256:")
    assert channel == "channel stable: wrote stable.sig"
    again = command(*seal)
    assert [line.split(": ")[1] for line in again.out.splitlines()] == ["unchanged", "unchanged"]
    assert again.err == "note: channel stable has no digest of 0.1.0\n"
    wrong = command("addon", "seal", str(tmp_path), "--key", str(tmp_path / "release.pub"))
    assert (wrong.code, "release.pub has no private key in PEM" in wrong.err) == (2, True)


def test_mirror_shows_its_progress_and_what_it_lacks(command: Command, tmp_path: Path) -> None:
    assert command("new", "addon", "web", "--dir", str(tmp_path)).code == 0
    (tmp_path / "web/channels/stable").write_text("manifests: [{version: 0.1.0}, {version: 0.2.0}]\n")
    copied = command("addon", "mirror", "--to", str(tmp_path / "m"), "web@0.1.0", "--addons-dir", str(tmp_path))
    package, channel = copied.out.splitlines()
    assert package.startswith("[1/2] web 0.1.0: copied: sha256:")
    assert (channel, copied.code) == ("[2/2] channel stable: copied", 0)
    assert copied.err == "note: channel stable leads to what the mirror lacks: web 0.2.0\n"
    whole = command("addon", "mirror", "--to", str(tmp_path / "m"), "web", "--addons-dir", str(tmp_path))
    assert (whole.code, "web 0.2.0" in whole.err) == (1, True)


@pytest.mark.slow
def test_mirror_in_a_registry_is_a_source(command: Command, tmp_path: Path) -> None:
    assert command("new", "addon", "web", "--dir", str(tmp_path)).code == 0
    with running_registry(tmp_path, has_login=True) as registry:
        place, files = f"oci+{registry.url}/mirror", ("web", "--addons-dir", str(tmp_path))
        refused = command("addon", "mirror", "--to", place, *files)
        assert (refused.code, "it asks for a login; name a file" in refused.err) == (1, True)
        login = {"username": USER.user, "password": USER.password}
        (tmp_path / "login").write_bytes(orjson.dumps({"auths": {registry.url.partition("://")[2]: login}}))
        credentials = ("--addon-credentials", str(tmp_path / "login"))
        copied = command("addon", "mirror", "--to", place, *files, *credentials)
        assert (copied.code, copied.out.splitlines()[1]) == (0, "[2/2] channel stable: copied"), copied.err
        back = ("addon", "mirror", "--to", str(tmp_path / "m"), *files, *credentials, "--addon-source", place)
        assert command(*back).out.replace("unchanged", "copied") == copied.out


@each(
    "arguments, problem",
    [
        (("coredns", "dashboard", "--to", "m"), "the addons have several sources ("),
        (("coredns", "--to", "https://example.com"), "https://example.com is no directory and no registry; copy"),
        (("coredns", "--to", "oci-layout:m"), "/m is no directory and no registry; copy to a directory"),
        (("coredns", "--to", "oci://host"), "'' is no path of a repository; write oci://HOST"),
        (("coredns", "--to", "oci+http://example.com/x"), "example.com"),
        (("coredns", "--to", "oci+http://127.0.0.1:1/{kubernetes}"), "http://127.0.0.1:1/v2/1."),
        (("core", "--to", "m"), "there is no addon 'core'; did you mean 'coredns'?"),
        (("coredns", "--to", "m", "--addon-source", "configmap:addons"), "addons/addon-channels needs a cluster"),
        (("coredns", "--to", "m", "--addon-keys", ADDONS), "--addon-keys: "),
    ],
)
def test_what_cannot_be_mirrored_is_refused(command: Command, arguments: tuple[str, ...], problem: str) -> None:
    ended = command("addon", "mirror", *arguments, "--addons-dir", ADDONS)
    assert (ended.code > 0, problem in ended.err) == (True, True), ended.err


@pytest.mark.slow
@pytest.mark.parametrize("words", ["render web.yaml --addons-dir .", "images web.yaml --addons-dir .", "test ."])
def test_packages_come_from_a_mirror_and_are_signed_where_that_is_asked(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("new", "addon", "web", "--dir", ".").code == 0
    make_key(tmp_path / "release.key")
    Path("web/channels").rename("copy")
    Path("web/example.yaml").rename("web.yaml")
    with Path("web/addon.yaml").open("a") as file:
        file.write("\nsource: https://example.com/web\n")
    copy = ("--addon-mirror", "https://example.com/web=copy")
    ended = [command("addon", *words.split(), *flags) for flags in ((), copy, (*copy, "--addon-keys", "release.pub"))]
    assert [one.code for one in ended] == [1 if words.startswith("test") else 2, 0, 1]
    assert "has no signature" in ended[2].err + ended[2].out
    assert command("addon", "seal", "copy", "--key", "release.key").code == 0
    assert command("addon", *words.split(), *copy, "--addon-keys", "release.pub").code == 0
