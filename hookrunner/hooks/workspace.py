"""The files and the environment of one hook run: made before it, read and removed after it."""

import asyncio
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from uuid import uuid4

from hookrunner.claimed_directories import lasting_name, reuse
from hookrunner.errors import BadOutput, HookFailed
from hookrunner.model.hook_runs import InstanceInput, Values
from hookrunner.safe_files import NotPrivate, create_file, open_existing, reuse_directory
from kubetypes.light_dataclasses import dataclass

_LONGEST_SAFE_NAME = 160
"""A file name may have 255 bytes; a temp file's name adds up to 70 to the hook's."""
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L"}
)
_PIECES = 1 << 16  # bytes of a context that are written at once: a larger buffer would be mapped for each run
_SHORT = 60
"""Characters of a module's name in the name of a file, where the hook's stands too; hooks get twice as many."""


@dataclass(frozen=True, slots=True)
class ValuesPaths:
    """Paths of the files about values. The patches are empty until the hook writes to them."""

    config: str
    values: str
    config_patch: str
    values_patch: str

    def environment(self) -> dict[str, str]:
        """The variables that name them."""
        return {
            "CONFIG_VALUES_PATH": self.config,
            "VALUES_PATH": self.values,
            "CONFIG_VALUES_JSON_PATCH_PATH": self.config_patch,
            "VALUES_JSON_PATCH_PATH": self.values_patch,
        }


@dataclass(frozen=True, slots=True)
class InstancePaths:
    """Paths for a hook of an addon: the instance, the conditions that it reports, and its package, which is no file of
    the run."""

    document: str
    conditions: str
    package_directory: str

    def environment(self) -> dict[str, str]:
        """The variables that name them."""
        return {
            "ADDON_OBJECT_PATH": self.document,
            "ADDON_PACKAGE_DIR": self.package_directory,
            "CONDITIONS_PATH": self.conditions,
        }


@dataclass(frozen=True, slots=True)
class Workspace:
    """Paths of the files of one run. All but `context` are empty until the hook writes to them; `again` is made by a
    hook that asks for another run, so that no other run pays for a file more."""

    context: str
    metrics: str
    conversion: str
    admission: str
    patch: str
    values: ValuesPaths | None = None
    instance: InstancePaths | None = None
    again: str = ""

    @property
    def given(self) -> tuple[str, ...]:
        """The files that a hook is to read."""
        values = (self.values.config, self.values.values) if self.values else ()
        return (self.context, *values, *((self.instance.document,) if self.instance else ()))

    @property
    def answers(self) -> tuple[str, ...]:
        """The files that it may write to."""
        patches = (self.values.config_patch, self.values.values_patch) if self.values else ()
        conditions = (self.instance.conditions,) if self.instance else ()
        return (*patches, *conditions, self.metrics, self.admission, self.conversion, self.patch)

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """The whole environment of the hook's process."""
        return {**inherited, **self._variables()}

    def with_variables(self, text: str) -> str:
        """A message in which files of the run are named by their variables. Their paths are other ones in each attempt,
        and equal messages are counted in one Event."""
        for variable, path in self._variables().items():
            text = text.replace(path, f"${variable}") if path in self.given + self.answers else text
        return text

    def _variables(self) -> dict[str, str]:
        return {
            "BINDING_CONTEXT_PATH": self.context,
            "METRICS_PATH": self.metrics,
            "CONVERSION_RESPONSE_PATH": self.conversion,
            "VALIDATING_RESPONSE_PATH": self.admission,
            "ADMISSION_RESPONSE_PATH": self.admission,
            "KUBERNETES_PATCH_PATH": self.patch,
            "RUN_AGAIN_PATH": self.again,
            **(self.values.environment() if self.values else {}),
            **(self.instance.environment() if self.instance else {}),
        }


def remove(files: Workspace) -> None:
    """Remove those that exist."""
    for path in (*files.given, *files.answers, files.again):
        with suppress(OSError):  # the hook may have removed it, or made a directory of it
            os.unlink(path)


def make_remover() -> Callable[[Workspace], object]:
    """What removes files in a thread, because no run should wait for it. Hooks write `> "$FILE"`, and to remove a file
    that was emptied and written again means on ext4 to wait for the disk (auto_da_alloc): 0.7 ms each, with other load
    0.3 s. A thread of its own, because the threads that write contexts and read answers have no time for that. It
    begins in the next turn of the event loop: a task that waits behind this run has started its process by then, while
    a thread that begins at once takes the interpreter's lock from that start, 0.3 ms on a busy machine."""
    removing = ThreadPoolExecutor(1, "remove files of runs")
    return lambda files: asyncio.get_running_loop().call_soon(removing.submit, remove, files)


def keep(_files: Workspace) -> None:
    """Leave them, for debugging."""


@contextmanager
def workspace(
    directory: Path,
    hook: str,
    end: Callable[[Workspace], object] = remove,
    module: str = "",
    instance: InstanceInput | None = None,
) -> Iterator[Workspace]:
    """Make the files, all empty; `end` is what becomes of them. `hook` is the hook's name, or its label where it has a
    `module`: then there are files for values too, and for an `instance` those of hooks of addons.

    Raises HookFailed if a file cannot be made.
    """
    files = _names_in_module(directory, module, hook) if module else _names(directory, hook)
    files = replace(files, instance=_names_of_instance(directory, hook, instance)) if instance else files
    try:
        _make(directory, files)
    except OSError as error:
        remove(files)
        raise _refusal(files, error) from error
    try:
        yield files
    finally:
        end(files)


def write_context(files: Workspace, pieces: Iterable[bytes]) -> None:
    """Write the binding context. Harmless after the workspace is gone, so it may run in a thread. Raises HookFailed."""
    _write(files, files.context, pieces)


def write_values(files: Workspace, values: Values) -> None:
    """Write the values and the instance, if there are files for them. As harmless as `write_context`. Raises
    HookFailed."""
    if files.values:
        _write(files, files.values.config, [values.config])
        _write(files, files.values.values, [values.values])
    if files.instance and values.instance:
        _write(files, files.instance.document, [values.instance.document])


def _write(files: Workspace, path: str, pieces: Iterable[bytes]) -> None:
    try:
        with open(open_existing(path), "wb", buffering=_PIECES) as file:
            file.writelines(pieces)
    except OSError as error:
        raise _refusal(files, error) from error


def read(path: str) -> bytes:
    """What the hook wrote. Raises BadOutput if it removed the file."""
    try:
        # Most files stay empty, and one stat is less than open, read and close.
        return Path(path).read_bytes() if os.stat(path).st_size else b""
    except OSError as error:
        raise BadOutput(f"cannot read {path}: {error.strerror}; a hook must leave its files where they are") from error


@lru_cache(maxsize=1024)
def safe_name(name: str) -> str:
    """A hook's name for file names: letters, digits, `.` and `-` only."""
    plain = unicodedata.normalize("NFKD", re.sub(r"[./]", "-", name).strip().translate(_LETTERS))
    dashed = re.sub(r"[^A-Za-z0-9.-]", "", re.sub(r"[ &_=+:]", "-", plain))
    return re.sub(r"-+", "-", dashed)[:_LONGEST_SAFE_NAME]


def _names(directory: Path, hook: str) -> Workspace:
    safe, run = safe_name(hook), str(uuid4())
    prefix = f"{directory}/hook-{safe}"
    return Workspace(
        context=f"{prefix}-binding-context-{run}.json",
        metrics=f"{prefix}-metrics-{run}.json",
        conversion=f"{prefix}-conversion-response-{run}.json",
        admission=f"{prefix}-admission-response-{run}.json",
        patch=f"{directory}/{safe}-object-patch-{run}",
        again=f"{prefix}-run-again-{run}",
    )


def _names_in_module(directory: Path, module: str, hook: str) -> Workspace:
    """As addon-operator names them, which has no response files."""
    safe, run = safe_name(hook)[: 2 * _SHORT], str(uuid4())
    own, prefix = f"{directory}/{safe_name(module)[:_SHORT]}", f"{directory}/{safe}.module-hook"
    return Workspace(
        context=f"{own}.module-hook-{safe}-binding-context-{run}.json",
        metrics=f"{prefix}-metrics-{run}.json",
        conversion=f"{prefix}-conversion-response-{run}.json",
        admission=f"{prefix}-admission-response-{run}.json",
        patch=f"{directory}/{safe}-object-patch-{run}",
        again=f"{prefix}-run-again-{run}",
        values=ValuesPaths(
            config=f"{own}.module-config-values-{run}.json",
            values=f"{own}.module-values-{run}.json",
            config_patch=f"{prefix}-config-values-{run}.json-patch",
            values_patch=f"{prefix}-values-{run}.json-patch",
        ),
    )


def _names_of_instance(directory: Path, hook: str, instance: InstanceInput) -> InstancePaths:
    prefix, run = f"{directory}/{safe_name(hook)[: 2 * _SHORT]}.addon-hook", str(uuid4())
    return InstancePaths(f"{prefix}-instance-{run}.json", f"{prefix}-conditions-{run}.json", instance.package_directory)


def _make(directory: Path, files: Workspace) -> None:
    if os.path.lexists(directory):
        reuse_directory(directory)
    else:
        reuse(directory)
    for path in files.given + files.answers:
        os.close(create_file(path))


def _refusal(files: Workspace, error: OSError) -> HookFailed:
    """Names the directory, not the file: with a new name at each attempt, each would be another Event."""
    directory = lasting_name(Path(files.context).parent)
    action = f"remove {directory}" if isinstance(error, NotPrivate) else "free space there"
    return HookFailed(f"cannot write files of a run in {directory}: {error.strerror}; {action}, or set --tmp-dir")
