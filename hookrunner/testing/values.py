"""The values files of a module's hook: made for a run, read after it (addon-operator.md §2.4, §2.5)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from hookrunner.errors import BadOutput, BadValues
from hookrunner.hooks import value_patches
from hookrunner.hooks.workspace import read
from hookrunner.model.resources import JSON
from hookrunner.model.values import PatchOperation
from hookrunner.values import patches


@dataclass(frozen=True, slots=True)
class Patched:
    """Values and what a hook wants of them: the operations and the values that come of them. `key` is that of the
    module whose hook it is, empty if nobody said."""

    before: JSON
    patches: tuple[PatchOperation, ...] = ()
    key: str = ""

    @property
    def after(self) -> JSON:
        """The values with all operations applied. Raises BadOutput for one that cannot be, or is not allowed."""
        try:
            if self.key:
                patches.permitted(self.patches, self.key)
            return patches.applied(self.before, self.patches, "values patch")
        except BadValues as error:
            raise BadOutput(str(error)) from None


@dataclass(frozen=True, slots=True)
class ValuesFiles:
    """The four files; `environment` names them for the hook."""

    directory: Path
    values: JSON
    config_values: JSON
    key: str

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables for the hook's process."""
        names = ("VALUES_PATH", "CONFIG_VALUES_PATH", "VALUES_JSON_PATCH_PATH", "CONFIG_VALUES_JSON_PATCH_PATH")
        return {name: str(self.directory / f"{name.lower()}.json") for name in names}

    def read(self) -> tuple[Patched, Patched]:
        """What the hook wrote about values and about config values. Raises BadOutput."""
        where = self.environment
        return (
            Patched(self.values, _read(where["VALUES_JSON_PATCH_PATH"], "values"), self.key),
            Patched(self.config_values, _read(where["CONFIG_VALUES_JSON_PATCH_PATH"], "config values"), self.key),
        )


@contextmanager
def values_files(values: JSON, config_values: JSON, key: str) -> Iterator[ValuesFiles]:
    """Make the files. Config values that nobody gave are an empty section for each key of the values. `key` is that of
    the hook's module, if it is known."""
    if config_values is None:
        config_values = {key: {} for key in values}
    with TemporaryDirectory(prefix="hookrunner-values-") as directory:
        files = ValuesFiles(Path(directory), values, config_values, key)
        contents = (orjson.dumps(values), orjson.dumps(config_values), b"", b"")
        for path, content in zip(files.environment.values(), contents, strict=True):
            Path(path).write_bytes(content)
        yield files


def _read(path: str, what: str) -> tuple[PatchOperation, ...]:
    try:
        return value_patches.parse(read(path))
    except BadOutput as error:
        raise BadOutput(f"got bad {what} patch: {error}") from None
