"""Real files in virtual time: exchanged as people and as kubelets do it, and broken in every way. Level: pure."""

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hookrunner.certificates.issuing import issue
from hookrunner.certificates.material import Material
from hookrunner.certificates.provided import INTERVAL, LatestMaterial, from_files
from tests.certificates.made import HOST, NOW, CertificateSpec, material
from tests.certificates.reading import Reader, reading

pytestmark = pytest.mark.looptime

KEYS = ("tls.crt", "tls.key", "ca.crt")
OLD, NEW = (issue([HOST], NOW) for _ in range(2))


def texts(made: Material) -> dict[str, bytes]:
    return dict(zip(KEYS, (made.certificate, made.key, made.trust), strict=True))


def write(directory: Path, made: Material, *keys: str) -> None:
    for key in keys or KEYS:
        (directory / key).write_bytes(texts(made)[key])


def mount(directory: Path, made: Material, version: str) -> None:
    """As a kubelet does: a new directory, and one symbolic link that is exchanged at once."""
    (directory / version).mkdir()
    write(directory / version, made)
    (directory / "..fresh").symlink_to(version)
    (directory / "..fresh").rename(directory / "..data")
    for key in KEYS:
        if not (directory / key).is_symlink():
            (directory / key).symlink_to(f"..data/{key}")


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncIterator[Reader]:
    async with reading(from_files(LatestMaterial("files"), *(tmp_path / key for key in KEYS))) as reader:
        yield reader


async def test_existing_files_are_read_at_once(tmp_path: Path, reader: Reader) -> None:
    write(tmp_path, OLD)
    assert await reader.next(0.1) == OLD


@pytest.mark.slow
async def test_missing_files_are_awaited(tmp_path: Path, reader: Reader) -> None:
    assert await reader.quiet(1000)
    write(tmp_path, OLD)
    assert await reader.next(1.5 * INTERVAL) == OLD


@pytest.mark.slow
async def test_unchanged_files_are_reported_once(tmp_path: Path, reader: Reader) -> None:
    write(tmp_path, OLD)
    await reader.next()
    write(tmp_path, OLD)
    assert await reader.quiet(1000)


async def test_new_contents_with_the_old_times_are_seen(tmp_path: Path, reader: Reader) -> None:
    write(tmp_path, OLD)
    before = [os.stat(tmp_path / key).st_mtime_ns for key in KEYS]
    await reader.next()
    write(tmp_path, NEW)
    for key, when in zip(KEYS, before, strict=True):
        os.utime(tmp_path / key, ns=(when, when))
    assert await reader.next() == NEW


async def test_exchange_of_a_mounted_secret_is_noticed(tmp_path: Path, reader: Reader) -> None:
    mount(tmp_path, OLD, "..1")
    assert await reader.next(0.1) == OLD
    mount(tmp_path, NEW, "..2")
    assert await reader.next(2.5 * INTERVAL) == NEW
    mount(tmp_path, OLD, "..3")
    assert await reader.next(2.5 * INTERVAL) == OLD


@pytest.mark.slow
@pytest.mark.parametrize("order", [KEYS, KEYS[::-1], ("tls.key", "ca.crt", "tls.crt")])
async def test_files_that_are_written_slowly_count_together(
    tmp_path: Path, reader: Reader, order: tuple[str, ...]
) -> None:
    write(tmp_path, OLD)
    await reader.next()
    for key in order[:-1]:
        write(tmp_path, NEW, key)
        assert await reader.quiet(100)
    write(tmp_path, NEW, order[-1])
    assert await reader.next(2.5 * INTERVAL) == NEW


async def test_a_trust_that_is_just_being_written_does_not_count(tmp_path: Path, reader: Reader) -> None:
    write(tmp_path, OLD)
    (tmp_path / "ca.crt").write_bytes(OLD.trust + NEW.trust)
    await reader.next()
    (tmp_path / "ca.crt").write_bytes(OLD.trust)
    assert await reader.quiet(1.5 * INTERVAL)
    (tmp_path / "ca.crt").write_bytes(NEW.trust + OLD.trust)
    assert (await reader.next()).trust == NEW.trust + OLD.trust


def remove(path: Path) -> None:
    path.unlink()


def make_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def garbage(path: Path) -> None:
    path.write_bytes(b"\xff\x00garbage")


def make_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


BREAK = [remove, make_directory, make_pipe, empty, garbage, make_loop, halve]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("broken", BREAK)
async def test_the_last_good_certificate_stays_when_a_file_breaks(
    tmp_path: Path, reader: Reader, broken: Callable[[Path], None], key: str, capfd: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, OLD)
    await reader.next()
    broken(tmp_path / key)
    assert await reader.quiet(200)
    logged = [line for line in capfd.readouterr().err.splitlines() if "error" in line]
    assert len(logged) == 1
    assert f"{tmp_path / key}" in logged[0]


async def test_repaired_file_is_yielded_if_it_is_new(
    tmp_path: Path, reader: Reader, capfd: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, OLD)
    await reader.next()
    garbage(tmp_path / "tls.crt")
    assert await reader.quiet(10)
    write(tmp_path, OLD)
    assert await reader.quiet(10)
    assert "usable again" in capfd.readouterr().err
    write(tmp_path, NEW)
    assert await reader.next() == NEW


@pytest.mark.slow
async def test_missing_files_are_reported_every_minute_at_the_start(
    tmp_path: Path, reader: Reader, capfd: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, OLD, "tls.key", "ca.crt")
    assert await reader.quiet(605)
    logged = capfd.readouterr().err.splitlines()
    assert len(logged) == 11
    assert all(f"{tmp_path / 'tls.crt'} cannot be read: No such file or directory" in line for line in logged)


async def test_expired_certificate_is_used_and_reported(
    tmp_path: Path, reader: Reader, capfd: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, expired := material(CertificateSpec(begin=0, life=60)))
    assert await reader.next() == expired
    assert "it expired on 1970-01-01T00:01:00+00:00" in capfd.readouterr().err
