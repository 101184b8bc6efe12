"""The files and the environment of one hook run (shell-operator.md §5.1): made before it, read and removed after it."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from hookrunner.errors import BadOutput, HookFailed
from hookrunner.hooks.discovery import safe_name

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_PIECES = 1 << 20  # bytes of a context that are written at once


@dataclass(frozen=True, slots=True)
class Workspace:
    """Paths of the files of one run. All but `context` are empty until the hook writes to them."""

    context: str
    metrics: str
    conversion: str
    admission: str
    patch: str

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """The whole environment of the hook's process."""
        return {
            **inherited,
            "BINDING_CONTEXT_PATH": self.context,
            "METRICS_PATH": self.metrics,
            "CONVERSION_RESPONSE_PATH": self.conversion,
            "VALIDATING_RESPONSE_PATH": self.admission,
            "ADMISSION_RESPONSE_PATH": self.admission,
            "KUBERNETES_PATCH_PATH": self.patch,
        }


@contextmanager
def workspace(directory: Path, hook: str, context: Iterable[bytes], keep: bool) -> Iterator[Workspace]:
    """Make the files, and remove them in the end unless they are to be kept.

    `hook` is the hook's name, `context` the pieces of the binding context. Raises HookFailed if a file cannot be made.
    """
    files = _names(directory, hook)
    try:
        try:
            _make(directory, files, context)
        except OSError as error:
            reason = f"cannot write {error.filename or files.context}: {error.strerror}"
            raise HookFailed(f"{hook} FAILED: {reason}; free space in {directory}, or set --tmp-dir") from error
        yield files
    finally:
        if not keep:
            _remove(files)


def read(path: str) -> bytes:
    """What the hook wrote. Raises BadOutput if it removed the file (§17.10)."""
    try:
        # Most files stay empty, and one stat is less than open, read and close.
        return Path(path).read_bytes() if os.stat(path).st_size else b""
    except OSError as error:
        raise BadOutput(f"cannot read {path}: {error.strerror}; a hook must leave its files where they are") from error


def _names(directory: Path, hook: str) -> Workspace:
    safe, run = safe_name(hook), uuid4()
    prefix = f"{directory}/hook-{safe}"
    return Workspace(
        context=f"{prefix}-binding-context-{run}.json",
        metrics=f"{prefix}-metrics-{run}.json",
        conversion=f"{prefix}-conversion-response-{run}.json",
        admission=f"{prefix}-admission-response-{run}.json",
        patch=f"{directory}/{safe}-object-patch-{run}",
    )


def _make(directory: Path, files: Workspace, context: Iterable[bytes]) -> None:
    try:
        descriptor = os.open(files.context, _NEW, 0o666)
    except FileNotFoundError:  # cleaners of temp directories remove what has not been used for days
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(files.context, _NEW, 0o666)
    with open(descriptor, "wb", buffering=_PIECES) as file:
        file.writelines(context)
    for path in (files.metrics, files.conversion, files.admission, files.patch):
        os.close(os.open(path, _NEW, 0o644))


def _remove(files: Workspace) -> None:
    for path in (files.context, files.metrics, files.conversion, files.admission, files.patch):
        with suppress(OSError):  # the hook may have removed it, or made a directory of it
            os.unlink(path)
