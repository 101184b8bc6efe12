"""What a prepared interpreter imports for a script, and what the script may see of it. Standard library, Python 3.7.

The first statements of a script, as far as they are imports of the standard library or of packages that were named, are
carried out here, once. Nothing else of it is: what comes later may depend on what the script does before it, as set a
path or the environment. An import that prints, warns or fails is left to each run; one that changes the process is
refused, and with it this interpreter.
"""

import _locale
import ast
import builtins
import importlib.util
import os
import sys
import time
import warnings
from types import ModuleType

_HAS_SCRIPT_PATH = not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated)
_SETTLED = 1.0
"""Seconds after which a script counts as written: it may be written still, or change within the clock's precision."""
_STANDARD = os.path.dirname(os.__file__) + os.sep
_INSTALLED = tuple(_STANDARD + name + os.sep for name in ("site-packages", "dist-packages"))


class NotStarted(Exception):
    """Nothing is started; the text is the answer to hookrunner."""


def _is_alias(name: str, module: ModuleType) -> bool:
    """Has a package put another module under this name into `sys.modules`, which no import could find again?
    `collections.abc` has no file in 3.14."""
    spec, (parent, _, child) = getattr(module, "__spec__", None), name.rpartition(".")
    if not parent or spec is None or spec.name == name:
        return False
    places = getattr(sys.modules.get(parent), "__path__", ())
    return not any(os.path.exists(os.path.join(place, child + end)) for place in places for end in (".py", ""))


class ImportRecord:
    """The modules of a fresh interpreter, which modules each other one `needs`, and those that must not be imported."""

    def __init__(
        self,
        fresh: "frozenset[str]",
        needs: "dict[str, set[str]]",
        excluded: "frozenset[str]",
    ) -> None:
        self.fresh, self.excluded = fresh, excluded
        self._needs = needs
        self._hidden: dict[str, tuple[ModuleType, ModuleType | None]] = {}
        self._shown: frozenset[str] = frozenset()

    @property
    def count(self) -> int:
        """How many modules are loaded."""
        return len(sys.modules) + len(self._hidden)

    def show(self, names: "frozenset[str]") -> None:
        """Let `sys.modules` have these of the loaded modules only. It is done here and not in each child, where each
        module that is touched costs a copied page."""
        if self._shown == names:
            return
        self.show_all()
        for name, module in list(sys.modules.items()):
            parent, _, child = name.rpartition(".")
            if name in names or (parent in names and _is_alias(name, module)):
                continue
            del sys.modules[name]
            owner = sys.modules.get(parent) if parent in names else None
            if owner is not None and vars(owner).get(child) is module:
                delattr(owner, child)
            else:
                owner = None
            self._hidden[name] = module, owner
        self._shown = names

    def show_all(self) -> None:
        """Let `sys.modules` have all of them."""
        for name, (module, owner) in self._hidden.items():
            sys.modules[name] = module
            if owner is not None:
                setattr(owner, name.rpartition(".")[2], module)
        self._shown = frozenset()
        self._hidden.clear()

    def closure(self, names: "set[str]") -> "set[str]":
        """These modules and those that they need."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self._needs.get(name, ())
        return found

    def load(self, statement: "ast.Import | ast.ImportFrom", status: int) -> "tuple[str, set[str]]":
        """Import as this statement does: why a run must do that itself, else ""; what it needs. Raises NotStarted."""
        words = ",".join(sorted(_tops(statement)))
        before, count = _process_state(), len(sys.modules)
        if any(name not in sys.modules for name in _named(statement)):
            os.write(status, b"?" + os.fsencode(words) + b"\n")
        self._needs["__main__"] = set()
        code = compile(ast.Module(body=[statement], type_ignores=[]), "<import>", "exec", 0, True)
        with _Watched() as watched:
            try:
                exec(code, {"__name__": "__main__"})
            except BaseException as error:
                return f"importing {words} fails with {type(error).__name__}", set()
        if watched.has_output:
            return f"importing {words} prints or warns", set()
        changed = _difference(before, _process_state()) if len(sys.modules) != count else ""
        if changed:
            raise NotStarted(f"^{words} changes {changed}")
        return "", self._needs["__main__"]


class PreparedScript:
    """A script that has been read: its code, and the modules that are loaded for it."""

    def __init__(self, path: str, packages: "frozenset[str]", record: ImportRecord) -> None:
        self.path, self.packages = path, packages
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            source = file.read()
        if abs(time.time() - status.st_mtime) < _SETTLED:
            raise NotStarted("!it has just been changed")
        importlib.util.decode_source(source)  # stricter than the compiler
        with warnings.catch_warnings(record=True) as shown:
            tree = ast.parse(source, path)
            self.code = compile(source, path, "exec", 0, True)
        self.source = source if shown else b""
        """A script whose compilation warns does so in each run."""
        self._seen = _identity(status)
        self._directory = os.path.dirname(os.path.realpath(path))
        self._record = record
        self._statements = _leading_imports(tree)
        self._loaded: list[str] = []
        self._why = ""
        self._needed: set[str] = set()
        self._state: tuple[int, int] = (0, 0)
        self._visible: frozenset[str] = frozenset()

    def has_changed(self) -> bool:
        """Whether the file is another one now. Raises OSError."""
        return self._seen != _identity(os.stat(self.path))

    def prepare(self, status: int) -> None:
        """Import what its first statements do. Raises NotStarted."""
        for statement in self._statements:
            unknown = [top for top in sorted(_tops(statement)) if not self._may_prepare(top)]
            if unknown:
                self._why = f"{unknown[0]} is not prepared"
                break
            self._why, needed = self._record.load(statement, status)
            if self._why:
                break
            self._needed |= needed
            self._loaded += _named(statement)
        self._needed = self._record.closure(self._needed)

    def note(self) -> str:
        """What is prepared, in words."""
        return "; ".join(filter(None, (f"prepared: {', '.join(self._loaded) or 'nothing'}", self._why)))

    def show_modules(self) -> "frozenset[str]":
        """Let `sys.modules` have what a run of it must find; return their names. Of the modules that are loaded ahead
        none is found if a file beside it has the name of one."""
        state = os.stat(self._directory).st_mtime_ns if _HAS_SCRIPT_PATH else 0, self._record.count
        if self._state != state:
            self._record.show_all()
            fresh = self._record.fresh
            local = {entry.partition(".")[0] for entry in os.listdir(self._directory)} if _HAS_SCRIPT_PATH else set()
            tops = {name.partition(".")[0] for name in self._needed - fresh} - {*sys.builtin_module_names}
            visible = fresh if tops & local else fresh | self._needed
            self._state, self._visible = state, frozenset(name for name in sys.modules if name in visible)
        self._record.show(self._visible)
        return self._visible

    def _may_prepare(self, top: str) -> bool:
        """Whether this module is of the standard library, or one of the packages."""
        if top in self._record.excluded:
            return False
        if top in self.packages or top in sys.builtin_module_names:
            return True
        try:
            spec = importlib.util.find_spec(top)
        except (ImportError, ValueError):
            return False
        origin = (spec and spec.origin) or ""
        return origin == "frozen" or _is_standard(origin)


def _is_standard(file: str) -> bool:
    return file.startswith(_STANDARD) and not file.startswith(_INSTALLED)


def _identity(status: os.stat_result) -> "tuple[int, ...]":
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _leading_imports(tree: ast.Module) -> "list[ast.Import | ast.ImportFrom]":
    """The imports that come before everything else: what comes later may depend on what a script does before it."""
    found: list[ast.Import | ast.ImportFrom] = []
    for statement in tree.body[1:] if ast.get_docstring(tree) is not None else tree.body:
        if not isinstance(statement, (ast.Import, ast.ImportFrom)) or getattr(statement, "level", None):
            break
        each = statement.names if isinstance(statement, ast.Import) else []
        found += [ast.copy_location(ast.Import([alias]), statement) for alias in each] or [statement]
    return found


def _named(statement: "ast.Import | ast.ImportFrom") -> "list[str]":
    if isinstance(statement, ast.ImportFrom):
        return [statement.module or ""]
    return [alias.name for alias in statement.names]


def _tops(statement: "ast.Import | ast.ImportFrom") -> "set[str]":
    return {name.partition(".")[0] for name in _named(statement)}


class _Watched:
    """Output is kept from the log inside of it. Afterwards `has_output` is whether it has printed or warned."""

    def __init__(self) -> None:
        self._warnings = warnings.catch_warnings(record=True)
        self.has_output = False

    def __enter__(self) -> "_Watched":
        self._end, end = os.pipe()
        os.set_blocking(self._end, False)
        self._kept = os.dup(1), os.dup(2)
        _print_to(end, end)
        os.close(end)
        self._shown = self._warnings.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._warnings.__exit__(None, None, None)
        _print_to(*self._kept)
        self.has_output = bool(self._shown or os.read(self._end, 1))
        for descriptor in (*self._kept, self._end):
            os.close(descriptor)


def _print_to(out: int, error: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(out, 1)
    os.dup2(error, 2)


def _process_state() -> "dict[str, object]":
    """What an import must leave as it is, because a fork would take it along."""
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return {
        "threads": lines["Threads"],
        "the umask": lines.get("Umask"),
        "signals": [lines[name] for name in ("SigBlk", "SigIgn", "SigCgt")],
        "descriptors": os.listdir("/proc/self/fd"),
        "the environment": dict(os.environ),
        "the working directory": os.getcwd(),
        "the locale": _locale.setlocale(_locale.LC_ALL),
        "how modules are found": [list(part) for part in (sys.path, sys.meta_path, sys.path_hooks)],
        "built-in names": [*vars(builtins)],
        "streams": [sys.stdin, sys.stdout, sys.stderr, sys.excepthook],
    }


def _difference(before: "dict[str, object]", after: "dict[str, object]") -> str:
    return ", ".join(key for key in before if before[key] != after[key])


def watched_files() -> "dict[str, tuple[int, ...] | None]":
    """What an interpreter is made from, with the identity of each: itself, its modules, the directories of its path."""
    files = [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())]
    # Packages of the system replace files of the standard library, which shows in their directories.
    modules = [os.path.dirname(file) if _is_standard(file) else file for file in files]
    own = [sys.executable, os.path.join(sys.prefix, "pyvenv.cfg"), *sys.path]
    return {path: look(path) for path in dict.fromkeys([*own, *modules]) if path}


def look(path: str) -> "tuple[int, ...] | None":
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
