"""The cache: whole entries or none, a bound, and what is in use stays, also by another process. Level: pure."""

import errno
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from hookrunner.errors import PackageError
from hookrunner.packages import package_cache
from hookrunner.packages.package import Package, parse_package
from hookrunner.packages.package_cache import PackageCache
from tests.packages.places import CHART

NO_LIMIT = 0
"""No limit."""


def package(name: str = "a", size: int = 0) -> Package:
    return parse_package("coredns", "1.0", {**CHART, "name": name.encode(), "fill": bytes(size)})


def entries(directory: Path) -> list[str]:
    return sorted(file.name for file in directory.iterdir())


def use(cache: PackageCache, each: Package) -> None:
    cache.hold(each)
    cache.release(each.digest)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "packages"


def test_a_stored_package_is_read_again_also_by_another_process(root: Path) -> None:
    PackageCache(root, NO_LIMIT).store(package())
    assert PackageCache(root, NO_LIMIT).read("coredns", "1.0", package().digest) == package()
    assert entries(root) == [package().digest.removeprefix("sha256:")]


def test_a_package_in_use_is_read_from_the_disk_once(root: Path) -> None:
    cache = PackageCache(root, NO_LIMIT)
    entry = cache.hold(package())
    read = cache.read("coredns", "1.0", package().digest)
    assert read is not None
    assert cache.read("coredns", "1.0", package().digest) is read
    shutil.rmtree(entry)
    assert cache.read("coredns", "1.0", package().digest) is None


@pytest.mark.parametrize("digest", ["", "sha256:x", "sha256:../../etc", "sha256:" + "0" * 64])
def test_what_is_not_there_is_none(root: Path, digest: str) -> None:
    assert PackageCache(root, NO_LIMIT).read("coredns", "1.0", digest) is None


def test_hooks_get_a_directory_that_is_closed_to_other_users(root: Path) -> None:
    directory = PackageCache(root, NO_LIMIT).hold(package())
    assert (directory / "templates/sub/b.yaml").read_bytes() == b"kind: B\n"
    assert [path.stat().st_mode & 0o777 for path in (root, directory, directory / "name")] == [0o700, 0o700, 0o400]


@pytest.mark.parametrize("damage", ["content", "missing", "more", "link", "pipe", "file"])
def test_a_damaged_entry_is_noticed_and_written_again(root: Path, damage: str) -> None:
    cache = PackageCache(root, NO_LIMIT)
    cache.store(package())
    entry = root / package().digest.removeprefix("sha256:")
    (entry / "name").unlink()
    match damage:
        case "content":
            (entry / "name").write_bytes(b"evil")
        case "more":
            (entry / "name").write_bytes(b"a")
            (entry / "more").write_bytes(b"a")
        case "link":
            (entry / "name").symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(entry / "name")
        case "file":
            (entry / "name").mkdir()
    assert cache.read("coredns", "1.0", package().digest) is None
    assert (cache.hold(package()) / "name").read_bytes() == b"a"


def test_beyond_the_bound_the_least_recently_used_entries_go(root: Path) -> None:
    cache = PackageCache(root, 250_000)
    packages = [package(name, 40_000) for name in "abc"]
    for moment, each in enumerate(packages, 1_000_000_000):
        use(cache, each)
        os.utime(root / each.digest.removeprefix("sha256:"), (moment, moment))
    assert cache.read("coredns", "1.0", packages[0].digest)
    use(cache, package("d", 40_000))
    assert [cache.read("coredns", "1.0", each.digest) is not None for each in packages] == [True, False, True]
    assert 0 < cache.size <= 250_000


def test_an_entry_in_use_is_never_deleted(root: Path) -> None:
    cache, other = PackageCache(root, 1), PackageCache(root, 1)
    directory = cache.hold(package())
    cache.hold(package())
    for name in "xyz":
        use(cache, package(name))
        use(other, package(name))
    assert (directory / "name").exists()
    cache.release(package().digest)
    use(other, package("x"))
    assert (directory / "name").exists()
    cache.release(package().digest)
    use(other, package("y"))
    assert not directory.exists()


HOLDER = """
import sys
from pathlib import Path
from types import SimpleNamespace
from hookrunner.packages.package_cache import PackageCache
from tests.packages.test_package_cache import package
print(PackageCache(Path(sys.argv[1]), 1).hold(package()), flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_an_entry_in_use_that_is_deleted_nevertheless_is_written_again(root: Path) -> None:
    cache, before = PackageCache(root, NO_LIMIT), len(os.listdir("/proc/self/fd"))
    directory = cache.hold(package())
    shutil.rmtree(root)
    assert cache.hold(package()) == directory
    assert (directory / "name").read_bytes() == b"a"
    for _ in range(2):
        cache.release(package().digest)
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.slow
def test_a_process_that_is_killed_uses_nothing_any_longer(root: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        directory = Path(holder.stdout.readline().strip())
        cache = PackageCache(root, 1)
        use(cache, package("x"))
        assert directory.exists()
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    use(cache, package("y"))
    assert not directory.exists()


@pytest.mark.slow
def test_many_threads_and_two_caches_leave_whole_entries(root: Path) -> None:
    caches = [PackageCache(root, 60_000), PackageCache(root, 60_000)]
    problems: list[object] = []

    def work(cache: PackageCache, number: int) -> None:
        for step in range(20):
            each = package(str((number + step) % 5), 9_000)
            try:
                directory = cache.hold(each)
                if (directory / "fill").stat().st_size != 9_000:
                    problems.append(directory)
                cache.release(each.digest)
            except Exception as error:
                problems.append(error)

    threads = [threading.Thread(target=work, args=(caches[number % 2], number)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert all(len(name) == 64 for name in entries(root))


def test_others_that_write_and_delete_an_entry_do_not_keep_it_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the first twenty times another process is faster, and its bound deletes the entry at once."""
    rename, faster = os.rename, iter([errno.ENOTEMPTY] * 20)

    def lose(source: Path, target: Path) -> None:
        if number := next(faster, 0):
            raise OSError(number, os.strerror(number))
        rename(source, target)

    monkeypatch.setattr(os, "rename", lose)
    assert (PackageCache(root, NO_LIMIT).hold(package()) / "name").read_bytes() == b"a"


def test_a_damaged_entry_that_another_process_uses_is_refused_at_once(root: Path) -> None:
    other, ours = PackageCache(root, NO_LIMIT), PackageCache(root, NO_LIMIT)
    (other.hold(package()) / "name").chmod(0o600)
    (root / package().digest.removeprefix("sha256:") / "name").write_bytes(b"evil")
    assert ours.read("coredns", "1.0", package().digest) is None
    with pytest.raises(PackageError, match="it is damaged, and another process uses it; see --addon-cache-dir"):
        ours.hold(package())
    other.release(package().digest)
    assert (ours.hold(package()) / "name").read_bytes() == b"a"


def test_what_another_process_is_writing_stays(root: Path) -> None:
    cache = PackageCache(root, NO_LIMIT)
    cache.store(package())
    (root / ".new-slow").mkdir()
    os.utime(root / ".new-slow", (0, 0))
    writer = os.open(root / ".new-slow", os.O_RDONLY)
    fcntl.flock(writer, fcntl.LOCK_SH)
    cache.store(package("b"))
    assert (root / ".new-slow").exists()
    os.close(writer)
    cache.store(package("c"))
    assert not (root / ".new-slow").exists()


def test_a_release_does_not_wait_for_a_slow_disk(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, is_writing, may_write, real = PackageCache(root, NO_LIMIT), threading.Event(), threading.Event(), os.open

    def slow_open(path: str | Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT:
            is_writing.set()
            may_write.wait(10)
        return real(path, flags, mode)

    cache.hold(package())
    monkeypatch.setattr(os, "open", slow_open)
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(cache.hold, package("b"))
        assert is_writing.wait(10)
        cache.release(package().digest)
        assert not held.done()
        may_write.set()
        assert held.result().is_dir()


class Disk:
    """A disk of so many bytes for what is below a directory: no file is made when it is full."""

    def __init__(self, root: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.size, self._open = root, size, os.open
        monkeypatch.setattr(os, "open", self.open)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=self.free))

    @property
    def used(self) -> int:
        return sum(-(-file.stat().st_size // 4096) * 4096 for file in self.root.rglob("*"))

    @property
    def free(self) -> int:
        return max(0, self.size - self.used)

    def open(self, path: str | Path, flags: int, mode: int = 0o777, **more: int) -> int:
        if flags & os.O_CREAT and self.free == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return self._open(path, flags, mode, **more)


def test_on_a_full_disk_unused_entries_make_room(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, cache = Disk(root, 250_000, monkeypatch), PackageCache(root, NO_LIMIT)
    used, old, new = (package(name, 80_000) for name in "abc")
    directory = cache.hold(used)
    use(cache, old)
    assert (cache.hold(new) / "name").read_bytes() == b"c"
    assert (directory / "name").exists()
    assert cache.read("coredns", "1.0", old.digest) is None
    assert disk.used <= disk.size


def test_a_disk_that_stays_full_costs_no_entry(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Disk(root, 250_000, monkeypatch)
    cache = PackageCache(root, NO_LIMIT)
    use(cache, package("a", 80_000))
    (root / "other").write_bytes(bytes(150_000))
    with pytest.raises(PackageError, match=r"No space left on device; see --addon-cache-dir"):
        cache.hold(package("b", 200_000))
    assert cache.read("coredns", "1.0", package("a", 80_000).digest)
    (root / "other").unlink()
    assert cache.hold(package("b", 80_000)).is_dir()


def test_what_a_killed_process_left_is_deleted_after_an_hour(root: Path) -> None:
    cache = PackageCache(root, NO_LIMIT)
    cache.store(package())
    for name, age in ((".new-old", 4000), (".old-old", 4000), (".new-young", 10)):
        (root / name).mkdir()
        moment = (root / name).stat().st_mtime - age
        os.utime(root / name, (moment, moment))
    cache.store(package("b"))
    assert [name for name in entries(root) if name.startswith(".")] == [".new-young"]


def test_a_directory_that_cannot_be_written_costs_the_cache_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = PackageCache(tmp_path / "file" / "packages", NO_LIMIT)
    cache.store(package())
    assert cache.read("coredns", "1.0", package().digest) is None
    with pytest.raises(PackageError, match=r"cannot be written to .*; see --addon-cache-dir") as raised:
        cache.hold(package())
    assert raised.value.reason == "Unreachable"


def test_a_directory_of_another_user_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages").chmod(0o777)
    with pytest.raises(PackageError, match="every user"):
        PackageCache(tmp_path / "packages", NO_LIMIT).hold(package())


@pytest.mark.slow
def test_descriptors_are_given_back(root: Path) -> None:
    cache = PackageCache(root, 1)
    before = len(os.listdir("/proc/self/fd"))
    for number in range(50):
        use(cache, package(str(number)))
        cache.read("coredns", "1.0", package(str(number)).digest)
    assert len(os.listdir("/proc/self/fd")) <= before


def test_after_its_patience_with_other_processes_a_package_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package_cache, "_PATIENCE", 0.0)
    with pytest.raises(PackageError, match="for 0 s other processes have written and deleted it") as refused:
        PackageCache(root, NO_LIMIT).hold(package())
    assert refused.value.reason == "Unreachable"


def test_for_another_error_than_a_full_disk_no_entry_is_deleted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, old, real = PackageCache(root, NO_LIMIT), package("old", 80_000), os.open
    use(cache, old)

    def read_only(path: str | Path, flags: int, mode: int = 0o777, **more: int) -> int:
        if flags & os.O_CREAT:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return real(path, flags, mode, **more)

    monkeypatch.setattr(os, "open", read_only)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    with pytest.raises(PackageError, match="Read-only file system"):
        cache.hold(package("new"))
    assert cache.read("coredns", "1.0", old.digest) == old


def test_an_entry_that_cannot_be_put_in_its_place_is_reported_at_once(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(old: object, new: object) -> None:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(new))

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(PackageError, match="Permission denied; see --addon-cache-dir"):
        PackageCache(root, NO_LIMIT).hold(package())
