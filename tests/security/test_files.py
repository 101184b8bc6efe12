"""Another user of the machine, who may write to the temp directory of all, to that of hooks, or to what we read.

Level: sandbox."""

import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from signal import SIGKILL
from typing import IO

import pytest
import yaml

from hookrunner import log, safe_files
from hookrunner.charts.chart_files import unpacked
from hookrunner.errors import BadChart, BadModule, HookFailed, StartRefused
from hookrunner.hooks import writable
from hookrunner.hooks.workspace import workspace
from hookrunner.kube.cluster_lookup import Lookup
from hookrunner.kube.credentials import load_connection
from hookrunner.safe_files import (
    NotPrivate,
    User,
    create_file,
    directory_problem,
    is_volume,
    problem_of,
    replace_file,
    use_directory,
)
from hookrunner.settings import HooksSettings, KubeSettings, load
from hookrunner.values.schemas import schema_files
from tests import launcher
from tests.kubesandbox.conftest import Client

STRANGER = 4242
REFUSED = r"belongs to another user \(4242\)|can be written by every user"


@pytest.fixture
def shared_tmp() -> Iterator[Path]:
    """A temp directory for all users of the machine, as /tmp is."""
    directory = Path(tempfile.mkdtemp(dir="/tmp"))
    directory.chmod(0o1777)
    yield directory
    shutil.rmtree(directory)


def as_stranger(path: Path) -> None:
    """Give it to another user. Only root can; else all may write to it, which is as bad."""
    if os.geteuid() == 0:
        os.chown(path, STRANGER, STRANGER, follow_symlinks=False)
    else:
        path.chmod(0o777)


def evil(marker: Path) -> str:
    """A kubeconfig that runs a command of its author's."""
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [str(marker)]}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "a", "user": {"exec": plugin | {"interactiveMode": "Never"}}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "current-context": "a",
    }
    return yaml.safe_dump(config)


def start(shared: Path, *words: str, **variables: str) -> tuple[launcher.Program, IO[str]]:
    """The running program with its default temp directory, and not as in a pod; and what it prints."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("KUBERNETES_", "HOOKRUNNER_"))}
    places = {"TMPDIR": str(shared), "HOOKRUNNER_DEBUG_UNIX_SOCKET": f"{shared}/socket/s"}
    return launcher.start_piped(words, cwd=shared, env=environ | places | variables)


def refusal(shared: Path, *words: str, **variables: str) -> str:
    """What it prints when it refuses to start. One that starts (`runs`, or `export` of a sandbox) is killed."""
    printed, started = "", " runs" if "start" in words else "export KUBECONFIG"
    program, output = start(shared, *words, **variables)
    with output:
        for line in output:
            printed += line
            if started in line:
                program.send_signal(SIGKILL)
    assert program.wait() == 1, printed
    return printed


@pytest.mark.usefixtures("launcher")
@pytest.mark.parametrize("words", [["sandbox"], ["start", "--sandbox", "--listen-port", "0"], ["start"]])
def test_a_temp_directory_that_a_stranger_made_first_refuses_the_start(shared_tmp: Path, words: list[str]) -> None:
    """It has a kubeconfig in it that runs a command, and could be exchanged at any time."""
    planted, marker = shared_tmp / f"hookrunner-{os.getuid()}", shared_tmp / "marker"
    planted.mkdir()
    (planted / "sandbox.kubeconfig").write_text(evil(marker))
    (shared_tmp / "hooks").mkdir(0o755)
    as_stranger(planted)
    printed = refusal(shared_tmp, *words)
    assert f"the directory {planted} is not safe" in printed
    assert "--tmp-dir" in printed
    assert not marker.exists()


@pytest.mark.usefixtures("launcher")
def test_a_strangers_link_to_our_own_directory_refuses_the_start(shared_tmp: Path) -> None:
    """It leads elsewhere as soon as it has been looked at."""
    ours, link = shared_tmp / "ours", shared_tmp / f"hookrunner-{os.getuid()}"
    ours.mkdir(0o700)
    link.symlink_to(ours)
    if os.geteuid():
        assert problem_of(link, User(os.getuid() + 1, frozenset()))
        return
    as_stranger(link)
    assert f"{link} belongs to another user (4242)" in refusal(shared_tmp, "sandbox")


@pytest.mark.usefixtures("launcher")
def test_a_directory_below_one_that_all_may_write_to_refuses_the_start(shared_tmp: Path) -> None:
    """They may rename it and put their own there."""
    (shared_tmp / "open").mkdir()
    (shared_tmp / "open").chmod(0o777)
    printed = refusal(shared_tmp, "sandbox", HOOKRUNNER_TMP_DIR=f"{shared_tmp}/open/a/b")
    assert f"{shared_tmp}/open can be written by every user" in printed


def test_a_temp_directory_that_a_stranger_made_after_a_cleaner_took_ours_is_not_used(shared_tmp: Path) -> None:
    directory = shared_tmp / "tmp"
    with workspace(directory, "a.sh"):
        pass
    directory.rmdir()
    directory.mkdir()
    as_stranger(directory)
    with (
        pytest.raises(HookFailed, match=f"({REFUSED}).*remove {directory}, or set --tmp-dir"),
        workspace(directory, "a"),
    ):
        pass
    assert list(directory.iterdir()) == []


def test_files_of_a_run_are_for_our_user_alone_whatever_the_umask(tmp_path: Path) -> None:
    """Binding contexts hold Secrets."""
    before = os.umask(0)
    try:
        with workspace(tmp_path / "a" / "tmp", "a.sh", module="m"):
            modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "a" / "tmp").iterdir()}
    finally:
        os.umask(before)
    assert modes == {0o600}
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/tmp")] == [0o755, 0o700]


@pytest.mark.slow
@pytest.mark.usefixtures("forking")
async def test_a_kubeconfig_of_our_own_that_was_exchanged_is_not_read(tmp_path: Path) -> None:
    marker, path = tmp_path / "marker", tmp_path / "kubeconfig"
    path.write_text(evil(marker))
    ours = yaml.safe_load(path.read_text())
    ours["clusters"][0]["cluster"]["server"] = "http://127.0.0.1:2"
    ours["users"][0]["user"] = {"token": "t"}
    with closing(Lookup(KubeSettings(config=path, text=yaml.safe_dump(ours)))) as loading:
        connection = await load_connection(loading)
    assert (connection.server, connection.authorization, marker.exists()) == ("http://127.0.0.1:2", "Bearer t", False)
    assert str(path) in connection.origin


def test_a_path_that_cannot_be_examined_may_be_anything(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "directory").mkdir()
    (tmp_path / "link").symlink_to("directory")
    (tmp_path / "loop").symlink_to("loop")
    nothing, anything = (False, False, False), (True, True, True)
    expected = {"file": (True, False, True), "directory": (True, True, False), "link": (True, True, False)}
    expected |= dict.fromkeys(("missing", "file/below", "loop", "nul\0"), nothing) | {"x" * 300: anything}
    functions = (safe_files.may_exist, safe_files.may_be_directory, safe_files.may_be_file)
    assert {name: tuple(may(tmp_path / name) for may in functions) for name in expected} == expected


def test_a_file_in_the_place_of_a_directory_is_no_safe_directory(tmp_path: Path) -> None:
    (file := tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="file"):
        problem_of(file, User.of_process())


def test_a_link_in_the_place_of_a_new_file_is_not_followed(tmp_path: Path) -> None:
    (target := tmp_path / "target").write_text("precious")
    (link := tmp_path / "link").symlink_to(target)
    (nowhere := tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    for path in (link, nowhere):
        with pytest.raises(FileExistsError):
            create_file(path)
    replace_file(link, b"ours")
    assert (target.read_text(), link.is_symlink(), link.read_text()) == ("precious", False, "ours")


@pytest.mark.parametrize(
    ("mode", "user", "problem"),
    [
        (0o755, User(os.getuid(), frozenset()), ""),
        (0o775, User(os.getuid(), frozenset({77})), ""),
        (0o775, User(os.getuid(), frozenset()), "can be written by the group 77"),
        (0o1775, User(os.getuid(), frozenset()), ""),
        (0o757, User(os.getuid(), frozenset({77})), "can be written by every user"),
        (0o1777, User(os.getuid(), frozenset()), ""),
    ],
)
def test_a_directory_is_safe_where_only_we_may_exchange_what_is_in_it(
    tmp_path: Path, mode: int, user: User, problem: str
) -> None:
    status = tmp_path.stat()
    fields = list(status)
    fields[0], fields[5] = 0o040000 | mode, 77
    assert directory_problem(tmp_path, os.stat_result(fields), user) == (problem and f"{tmp_path} {problem}")


def test_links_of_our_own_and_parents_in_the_path_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "relative").symlink_to("real/../real")
    (tmp_path / "absolute").symlink_to(tmp_path / "relative")
    (tmp_path / "round").symlink_to("round")
    assert problem_of(tmp_path / "absolute" / "deep" / ".." / "deep", User.of_process()) == ""
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        problem_of(tmp_path / "round", User.of_process())
    (tmp_path / "real").chmod(0o777)
    with pytest.raises(NotPrivate, match="real can be written by every user"):
        use_directory(tmp_path / "absolute" / "deep" / "new")


def test_a_volume_of_a_pod_is_safe_although_all_may_write_to_it(tmp_path: Path) -> None:
    """An `emptyDir` is 0777 without the sticky bit, and root has mounted it."""
    fields = list(os.stat("/proc"))
    fields[0] = 0o040777
    assert directory_problem(Path("/proc"), os.stat_result(fields), User(1, frozenset())) == ""
    assert not is_volume(tmp_path, tmp_path.stat())


def make(path: Path, mode: int, text: str = "#!/bin/sh\necho configVersion: v1\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


STARTED = ("start", "--sandbox", "--listen-port", "0")


@pytest.mark.usefixtures("launcher")
@pytest.mark.parametrize(
    ("path", "mode"),
    [("hooks/a.sh", 0o777), ("hooks/a.sh", 0o4757), ("hooks/lib/l.sh", 0o666), ("hooks", 0o1777), ("hooks/b", 0o777)],
)
def test_a_hook_that_every_user_may_change_refuses_the_start(shared_tmp: Path, path: str, mode: int) -> None:
    """A stranger would run what he likes as our user; in a sticky directory he can at least add a hook. A setuid hook
    stays one if root's process writes to it."""
    for name in ("hooks/a.sh", "hooks/lib/l.sh", "hooks/b/b.sh"):
        make(shared_tmp / name, 0o755)
    (shared_tmp / path).chmod(mode)
    printed = refusal(shared_tmp, *STARTED, HOOKRUNNER_HOOKS_DIR=str(shared_tmp / "hooks"))
    assert f"  - {shared_tmp / path} can be written by every user\n" in printed
    assert "--on-writable-hook" in printed


@pytest.mark.usefixtures("launcher")
@pytest.mark.parametrize("variable", ["GLOBAL_HOOKS_DIR", "MODULES_DIR"])
def test_a_module_that_every_user_may_change_refuses_the_start(shared_tmp: Path, variable: str) -> None:
    make(shared_tmp / "there" / "001-a" / "values.yaml", 0o666, "{}")
    make(shared_tmp / "there" / "001-a" / "enabled", 0o755)
    printed = refusal(shared_tmp, *STARTED, **{f"HOOKRUNNER_{variable}": str(shared_tmp / "there")})
    assert f"{shared_tmp}/there/001-a/values.yaml can be written by every user" in printed


def test_hooks_that_every_user_may_change_cause_a_warning_where_allowed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """By the flag, or in a pod, where images whose hooks are 0777 are common."""
    make(tmp_path / "a.sh", 0o777)
    in_pod = load({}, "hookrunner", {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}).hooks
    for settings in (HooksSettings(on_writable="warn"), in_pod):
        writable.check(tmp_path, settings)
        log.flush(1)
        assert f"{tmp_path}/a.sh can be written by every user" in capfd.readouterr().err
    assert load({}, "hookrunner", {}).hooks.on_writable == "stop"
    with pytest.raises(StartRefused, match=r"a\.sh can be written by every user"):
        writable.check(tmp_path, load({}, "hookrunner", {}).hooks)


def test_files_that_our_groups_or_one_user_may_change_are_accepted(tmp_path: Path) -> None:
    hook = make(tmp_path / "a.sh", 0o775)
    ours, status = User.of_process(), hook.stat()
    assert list(writable.findings(tmp_path, ours)) == []
    found = list(writable.findings(tmp_path, User(status.st_uid, frozenset())))
    assert [one.by_all for one in found] == [False] * (status.st_gid != 0)
    strangers = list(writable.findings(tmp_path, User(STRANGER, frozenset())))
    assert {one.by_all for one in strangers} <= {False}
    writable.check(tmp_path, HooksSettings())


def test_the_target_of_a_link_is_checked_with_its_directory(tmp_path: Path) -> None:
    """A ConfigMap's `a.sh` is `..data/a.sh`, and `..data` a link itself. Links are 0777, which means nothing."""
    hooks, data = tmp_path / "hooks", tmp_path / "hooks" / "..2026"
    make(data / "a.sh", 0o755)
    (hooks / "..data").symlink_to("..2026")
    (hooks / "a.sh").symlink_to("..data/a.sh")
    (hooks / "gone").symlink_to("nowhere")
    (hooks / "round").symlink_to(".")
    assert list(writable.findings(hooks, User.of_process())) == []
    data.chmod(0o777)
    assert [str(one) for one in writable.findings(hooks, User.of_process())] == [f"{data} can be written by every user"]


def test_modes_are_ignored_on_read_only_file_systems(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Volumes of ConfigMaps are mounted read-only, and 0777 throughout."""
    make(tmp_path / "a.sh", 0o777)
    assert len(list(writable.findings(tmp_path, User.of_process()))) == 1
    fields = list(os.statvfs(tmp_path))
    fields[8] |= os.ST_RDONLY
    monkeypatch.setattr(os, "statvfs", lambda _path: os.statvfs_result(fields))
    assert list(writable.findings(tmp_path, User.of_process())) == []


# ── files that a document names ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("file://{outside}", "a file that cannot be read: No such file"),
        ("../../outside", "a file that is "),
        ("../fifo", "a file that cannot be read: it is no regular file"),
        ("/dev/zero", "a file that cannot be read: it is no regular file"),
    ],
)
def test_a_schema_reference_reveals_nothing_of_the_named_file(tmp_path: Path, reference: str, said: str) -> None:
    """Relative paths may lead out of a module, as several may share a schema. Nothing is fetched, and reading ends."""
    (openapi := tmp_path / "module" / "openapi").mkdir(parents=True)
    (outside := tmp_path / "outside").write_text("root:$6$precious: [\n")
    os.mkfifo(tmp_path / "module" / "fifo")
    (openapi / "values.yaml").write_text(f"properties: {{a: {{$ref: '{reference.format(outside=outside)}'}}}}")
    with pytest.raises(BadModule, match=f"refers to {said}") as raised:
        schema_files.load(tmp_path / "module", "it")
    assert "precious" not in str(raised.value)


@pytest.mark.parametrize("reference", ["file:///etc/passwd", "../../etc/passwd", "http://127.0.0.1:1/x"])
async def test_a_definition_in_the_sandbox_may_name_no_file(client: Client, reference: str) -> None:
    schema = {"type": "object", "properties": {"spec": {"$ref": reference}}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    names = {"plural": "boxes", "kind": "Box"}
    described = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    body = {"metadata": {"name": "boxes.example.com"}, "spec": described}
    answer = await client.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    assert (answer.status, "$ref" in answer.body["message"], "root:" in str(answer.body)) == (422, True, False)


def test_a_packed_chart_is_never_written_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that `../` and links in it lead nowhere."""
    monkeypatch.chdir(tmp_path)
    with tarfile.open(fileobj=(packed := io.BytesIO()), mode="w:gz") as archive:
        for name in ("a/../../up", "/absolute", "a/../templates/b"):
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"x"))
        link = tarfile.TarInfo("a/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(BadChart, match="not a packed chart"):
        list(unpacked("c.tgz", packed.getvalue()))
    assert list(tmp_path.iterdir()) == []


# ── bits that change the user ─────────────────────────────────────────────────────────────────────────────────────────

WHO = '#!/bin/bash\n[ "$1" = --config ] && { echo \'{"configVersion": "v1", "onStartup": 1}\'; exit; }\nid -u; id -g\n'


@pytest.mark.usefixtures("launcher")
@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o6755])
def test_a_setuid_script_runs_as_our_user(shared_tmp: Path, mode: int) -> None:
    """Linux ignores the bits of scripts, and no shell or wrapper of hookrunner honours them."""
    hook = make(shared_tmp / "hooks" / "a.sh", 0o755, WHO)
    if os.geteuid() == 0:
        os.chown(hook, STRANGER, STRANGER)
    hook.chmod(mode)
    hook.parent.chmod(0o755)
    program, output = start(shared_tmp, "hook", "run", str(hook))
    with output:
        printed = output.read()
    program.wait()
    assert f"{os.geteuid()}\n" in printed
    assert f"{STRANGER}" not in printed
