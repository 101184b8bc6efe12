"""Builds the image as the Dockerfile states, without a daemon and without a registry, and unpacks it.

Debian's buildah runs the commands of a build in a chroot, for which a container of CI has the rights. The base image
cannot be pulled everywhere, so `mmdebstrap` makes one: Debian with the Python of the real one; the variable
`HOOKRUNNER_PYTHON_IMAGE` names another, which is pulled. What is built is kept outside the checkout, keyed by its
inputs; a change of the program leaves the layers of the libraries as they are.
"""

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from tests.controlplane.cache import BedUnavailable, cache_directory, locked, run

ROOT = Path(__file__).parents[2]
GIVEN = "HOOKRUNNER_PYTHON_IMAGE"
MADE = "localhost/python:made"
SUITE = "trixie"
"""The release of Debian whose Python is the image's, 3.13."""
PACKAGES = "python3,python3-pip,ca-certificates"
RECIPE = """FROM scratch
COPY root /
ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
CMD ["python3"]
"""
MOST_IMAGES = 100
"""A build leaves about ten, of its stages and layers."""
OURS = ("localhost/hookrunner:", "localhost/user:")
"""How names of images begin that belong to one state of a checkout, or to one test."""
UNITS = {"B": 0.0, "KB": 0.001, "MB": 1.0, "GB": 1000.0}
TRUST = ("/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
"""A machine may have a package index of its own, with a certificate of its own. Builds use both and keep neither."""


@dataclass(frozen=True)
class Image:
    """A built image: `name` is for `FROM`, `root` its unpacked file system, `config` what its instructions set, as of
    https://github.com/opencontainers/image-spec/blob/main/config.md."""

    name: str
    root: Path
    config: dict[str, Any]

    @cached_property
    def environ(self) -> dict[str, str]:
        return dict(pair.split("=", 1) for pair in self.config["Env"])

    @property
    def command(self) -> list[str]:
        """What a container of it runs that names no command."""
        return [*self.config["Entrypoint"], *self.config["Cmd"]]


def input_key() -> str:
    """What a build depends on, as a short hash: the Dockerfile and the files that it may copy."""
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    files = [file for name in sorted(allowed) for file in sorted([ROOT / name, *(ROOT / name).rglob("*")])]
    digest = hashlib.sha256(f"{SUITE} {PACKAGES} {os.environ.get(GIVEN, '')}".encode())
    for file in (ROOT / "Dockerfile", *(file for file in files if file.is_file() and "__pycache__" not in file.parts)):
        digest.update(f"\0{file.relative_to(ROOT)} {file.stat().st_mode & 0o111}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


class Store:
    """Images below a directory, kept by buildah. Several processes may use it at the same time (`in_use`); buildah runs
    for one of them at a time."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def in_use(self) -> Iterator["Store"]:
        """While images are built and unpacked. The last of those who use it at the same time unmounts what they have
        unpacked; if they were killed, the next to begin does. Raises `BedUnavailable`."""
        with (self._directory / "users").open("a") as users:
            self._tidy(users)
            fcntl.flock(users, fcntl.LOCK_SH)
            try:
                yield self
            finally:
                fcntl.flock(users, fcntl.LOCK_UN)
                self._tidy(users)

    def find(self) -> Image:
        """The image of this checkout; one that is not there takes a minute. Raises `BedUnavailable`."""
        name = _name()
        with self._opened():
            if name not in self._names():
                base = os.environ.get(GIVEN) or self._find_base()
                self._build(name, ROOT, "--build-arg", f"PYTHON_IMAGE={base}")
            return self._unpack(name)

    def build(self, name: str, context: Path, *options: str) -> Image:
        """Another image, which may begin `FROM` one of these. Raises `BedUnavailable`."""
        with self._opened():
            self._build(f"localhost/{name}", context, *options)
            return self._unpack(f"localhost/{name}")

    def export(self, image: Image, layout: Path) -> None:
        """Write it as registries keep it, https://github.com/opencontainers/image-spec/blob/main/image-layout.md."""
        with self._opened():
            self._run("push", "--quiet", image.name, f"oci:{layout}")

    def sizes(self) -> dict[str, float]:
        """Megabytes of each image on disk, those of its base included."""
        with self._opened():
            listed = self._run("images", "--format", "{{.Name}}:{{.Tag}} {{.Size}}").splitlines()
        parts = [line.split() for line in listed]
        return {name: float(number) * UNITS[unit] for name, number, unit in parts}

    @contextmanager
    def _opened(self) -> Iterator[None]:
        lacking = [name for name in ("buildah", "mmdebstrap") if not shutil.which(name)]
        if lacking or os.geteuid() != 0:
            raise BedUnavailable(f"the image is built by root, with buildah and mmdebstrap: apt-get install {lacking}")
        with locked(self._directory / "lock"):
            yield

    def _run(self, *words: str) -> str:
        places = [f"--root={self._directory}/store", f"--runroot={self._directory}/run"]
        return run(["buildah", *places, *words], why="buildah failed")

    def _names(self) -> list[str]:
        return self._run("images", "--format", "{{.Name}}:{{.Tag}}").split()

    def _build(self, name: str, context: Path, *words: str) -> None:
        trust = [f"--volume={file}:{file}:ro" for file in TRUST if Path(file).exists()]
        options = ["--isolation=chroot", "--layers", "--pull" if os.environ.get(GIVEN) else "--pull-never"]
        self._run("bud", *options, *trust, *words, "--tag", name, str(context))

    def _find_base(self) -> str:
        if MADE not in self._names():
            with tempfile.TemporaryDirectory(dir=self._directory) as scratch:
                _make_base(Path(scratch))
                self._run("bud", "--tag", MADE, scratch)
        return MADE

    def _tidy(self, users: IO[str]) -> None:
        """Unless it is in use: unmount all, and remove all images but that of this checkout. Layers of earlier builds
        stay, for the next one to use, until there are many."""
        with self._opened():
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            self._run("rm", "--all")
            names = self._names()
            if len(names) > MOST_IMAGES:
                self._run("rmi", "--all", "--force")
            elif old := [name for name in names if name.startswith(OURS) and name != _name()]:
                self._run("rmi", *old)
            if (home := self._directory / "store" / "overlay").is_mount():  # buildah mounts it on itself
                run(["umount", str(home)], why=f"{home} cannot be unmounted")
            fcntl.flock(users, fcntl.LOCK_UN)

    def _unpack(self, name: str) -> Image:
        container = _container(name)
        if container not in self._run("containers", "--format", "{{.ContainerName}}").split():
            self._run("from", "--pull-never", "--name", container, name)
        root = Path(self._run("mount", container).strip())
        return Image(name, root, json.loads(self._run("inspect", "--type=image", name))["OCIv1"]["config"])


def store() -> Store:
    """That of this machine."""
    return Store(cache_directory() / "image")


def _name() -> str:
    return f"localhost/hookrunner:{input_key()}"


def _container(name: str) -> str:
    return name.translate(str.maketrans("/:", "--"))


def _make_base(directory: Path) -> None:
    """Write the build context of a base image that has what the Dockerfile uses of `python:3.13-slim`."""
    root, archive = directory / "root", directory / "root.tar"
    root.mkdir()
    options = ["--quiet", "--format=tar", "--variant=minbase", f"--include={PACKAGES}"]
    run(["mmdebstrap", *options, '--aptopt=Acquire::Check-Valid-Until "false"', SUITE, str(archive)], why="no Debian")
    run(["tar", "-xf", str(archive), "-C", str(root), "--exclude=./dev/*"], why="Debian cannot be unpacked")
    archive.unlink()
    for marker in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
        marker.unlink()  # else pip refuses to install
    (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    (directory / "Dockerfile").write_text(RECIPE)
