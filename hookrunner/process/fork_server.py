"""The prepared interpreter: runs under the Python of hooks (3.7 or later), and forks a child for each run of a script.

    PYTHON [FLAGS] fork_server.py DESCRIPTOR [NAMES]    NAMES: modules, with commas, that it must not import

It uses the standard library and its two neighbours alone. A message on the socket DESCRIPTOR is a run: text with NUL
between the fields (`_Request`), and three descriptors: standard output, standard error, and a status pipe, where it
answers with one of

    <digits>    the child, which runs: written by itself, in a process group of its own
    !<reason>   nothing was started; this script needs a process of its own
    ~<reason>   nothing was started; a file has changed: prepare a new interpreter
    ^<names> <reason>   nothing was started; these modules change the process that imports them: prepare one without
    ?<names>    before any of these: modules that are imported now; if nothing follows, they have ended this process

and with nothing if it dies: then no script was started. The child is a sibling (CLONE_PARENT, clone(2)): hookrunner is
the parent that waits for it, signals it and reads its rusage, also when this process ends.

A child sees what a fresh interpreter would show it. The modules that a script imports in its first statements are
loaded already; those that other scripts import are taken out of `sys.modules`. The script is compiled once.
"""

import sys

_FRESH_MAIN = dict(globals(), __doc__=None)
del _FRESH_MAIN["sys"]
_FRESH_MODULES = frozenset(sys.modules)
_HAS_SCRIPT_PATH = not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated)
if __name__ == "__main__" and _HAS_SCRIPT_PATH:
    del sys.path[0]  # our own directory

import builtins

_import = builtins.__import__
_needs: "dict[str, set[str]]" = {}
"""By module: the modules that its code has imported."""


def _import_and_record(name, globals=None, locals=None, fromlist=(), level=0):  # type: ignore[no-untyped-def]
    """The import of all that is prepared: of two modules that need a third one, only the first loads it."""
    module = _import(name, globals, locals, fromlist, level)
    names = globals or {}
    if level:
        base = names.get("__package__", "").split(".")
        name = ".".join(base[: len(base) - level + 1] + ([name] if name else []))
    parts = name.split(".")
    needed = _needs.setdefault(names.get("__name__", "__main__"), set())
    needed.update(".".join(parts[: end + 1]) for end in range(len(parts)))
    needed.update(full for full in (f"{name}.{item}" for item in fromlist or ()) if full in sys.modules)
    return module


if __name__ == "__main__":
    sys.path.insert(0, __file__.rsplit("/", 3)[0])
    import hookrunner.process  # noqa: F401  # finds its neighbours from now on

    del sys.path[0]
    builtins.__import__ = _import_and_record

import array
import atexit
import ctypes
import gc
import os
import socket
from collections.abc import Callable
from functools import partial

from hookrunner.process.fork_child import become, finish, show_exception
from hookrunner.process.fork_imports import ImportRecord, NotStarted, PreparedScript, look, watched_files

_CLONE_PARENT, _CLONE_CHILD_CLEARTID, _CLONE_CHILD_SETTID, _SIGCHLD = 0x8000, 0x200000, 0x1000000, 17
_CLONE = {"x86_64": (56, False), "aarch64": (220, True)}
"""The number of clone(2), and whether it takes `tls` before `child_tid`."""
_LARGEST = 1 << 16
"""Bytes of a request."""


class _Request:
    """A run: `variables` are those that the process is given beside the environment of this one."""

    def __init__(self, message: bytes) -> None:
        fields = [os.fsdecode(field) for field in message.split(b"\0")]
        self.directory, self.script, self.name, packages, count = fields[:5]
        self.packages = frozenset(packages.split(","))
        self.arguments = fields[5 : 5 + int(count)]
        self.variables = [variable.partition("=")[::2] for variable in fields[5 + int(count) :]]


class _Server:
    """Answers requests. `excluded` are modules that it must not import."""

    def __init__(self, channel: socket.socket, record: ImportRecord) -> None:
        self._channel = channel
        self._record = record
        self._scripts: dict[str, PreparedScript] = {}
        self._files = watched_files()
        self._clone, self._why = _make_clone()

    def serve(self) -> "tuple[_Request, PreparedScript, frozenset[str]]":
        """Answer requests until the socket is closed; returns in each child."""
        while True:
            message, ends = _receive(self._channel)
            if not message:
                os._exit(0)
            request = _Request(message)
            try:
                script = self._prepare(request, ends[2])
                modules = script.show_modules()
                os.chdir(request.directory)
                if self._fork() == 0:
                    self._begin(ends, request)
                    return request, script, modules
            except NotStarted as refusal:
                os.write(ends[2], os.fsencode(str(refusal)))
            except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
                os.write(ends[2], os.fsencode(f"!{type(error).__name__}: {error}"))
            os.chdir("/")
            for end in ends:
                os.close(end)

    def _prepare(self, request: _Request, status: int) -> PreparedScript:
        if self._why:
            raise NotStarted(f"!{self._why}")
        for path, seen in self._files.items():
            if look(path) != seen:
                raise NotStarted(f"~{path} has changed")
        script = self._scripts.get(request.script)
        if script is None or script.packages != request.packages or script.has_changed():
            self._record.show_all()
            script = PreparedScript(request.script, request.packages, self._record)
            script.prepare(status)
            self._scripts[request.script] = script
            self._files = {**watched_files(), **self._files}
            gc.collect()
            gc.freeze()  # collections of children leave these objects alone, and their pages shared
            os.write(status, os.fsencode(f"={script.note()}\n"))
        return script

    def _fork(self) -> int:
        """As os.fork, but of a sibling. Raises NotStarted."""
        ctypes.pythonapi.PyOS_BeforeFork()
        pid = self._clone()
        if pid == 0:
            ctypes.pythonapi.PyOS_AfterFork_Child()
        else:
            ctypes.pythonapi.PyOS_AfterFork_Parent()
            if pid < 0:
                raise NotStarted("!no child can be made")
        return pid

    def _begin(self, ends: "list[int]", request: _Request) -> None:
        """Make the child what a fresh process would be. It never returns to the server."""
        try:
            os.setpgid(0, 0)
            os.dup2(ends[0], 1)
            os.dup2(ends[1], 2)
            self._channel.close()
            os.write(ends[2], b"%d" % os.getpid())
            for end in ends:
                os.close(end)
            for name, value in request.variables:
                os.environ[name] = value
            if request.name:
                with open("/proc/self/comm", "w") as file:
                    file.write(request.name)
            if hasattr(sys, "orig_argv"):
                sys.orig_argv[sys.orig_argv.index(__file__) :] = [request.script, *request.arguments]
            builtins.__import__ = _import
            become(request.script, request.arguments, _FRESH_MAIN)
        except BaseException as error:
            os.write(2, os.fsencode(f"the child of the prepared interpreter cannot begin: {error!r}\n"))
            os._exit(70)


def _make_clone() -> "tuple[Callable[[], int], str]":
    """What makes a sibling with the flags of fork(2) in the C library, which keeps the thread's id in its own memory;
    or why there can be none."""
    number, tls_first = _CLONE.get(os.uname().machine, (0, False))
    if sys.platform != "linux" or not number or ctypes.sizeof(ctypes.c_void_p) != 8:
        return lambda: -1, f"no fork on {sys.platform} {os.uname().machine}"
    library = ctypes.PyDLL(None)
    library.pthread_self.restype = ctypes.c_void_p
    thread = library.pthread_self()
    own = [at for at in range(thread, thread + 1024, 4) if ctypes.c_int.from_address(at).value == os.getpid()]
    if len(own) != 1:
        return lambda: -1, "no fork with this C library"
    flags = _CLONE_PARENT | _CLONE_CHILD_CLEARTID | _CLONE_CHILD_SETTID | _SIGCHLD
    last = (0, own[0]) if tls_first else (own[0], 0)
    arguments = [ctypes.c_long(value) for value in (number, flags, 0, 0, *last)]
    library.syscall.restype = ctypes.c_long
    return lambda: int(library.syscall(*arguments)), ""


def _receive(channel: socket.socket) -> "tuple[bytes, list[int]]":
    descriptors = array.array("i")
    message, notes, _, _ = channel.recvmsg(_LARGEST, socket.CMSG_SPACE(3 * descriptors.itemsize))
    for _, _, data in notes:
        descriptors.frombytes(data)
    return message, descriptors.tolist()


if __name__ == "__main__":
    for _name in [name for name in sys.modules if name.partition(".")[0] == "hookrunner"]:
        del sys.modules[_name]  # a script may find another one
    _record = ImportRecord(_FRESH_MODULES, _needs, frozenset(",".join(sys.argv[2:]).split(",")))
    _request, _script, _modules = _Server(socket.socket(fileno=int(sys.argv[1])), _record).serve()
    _code, _names, _status = _script.code, vars(sys.modules["__main__"]), 0
    if _script.source:
        _code = compile(_script.source, _request.script, "exec", 0, True)
    _callbacks = atexit._ncallbacks()
    try:
        exec(_code, _names)
    except SystemExit as _end:
        if not (_end.code is None or (type(_end.code) is int and abs(_end.code) < 1 << 31)):
            raise
        _status = _end.code or 0
    except BaseException:
        sys.excepthook = partial(show_exception, sys.excepthook)
        raise
    del _names
    finish(_status, _modules, _callbacks)
    sys.exit(_status)
