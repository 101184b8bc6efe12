"""What a child of a prepared interpreter does before and after its script. Standard library, Python 3.7.

Before: it looks as a fresh interpreter would. After: what the end of an interpreter does that can be noticed, without
freeing what was there before the fork, since that would copy all its pages: three quarters of the time of a short run.
"""

import _thread
import atexit
import ctypes
import gc
import os
import sys
import time
from _weakref import ref
from collections.abc import Callable
from types import GeneratorType, ModuleType, TracebackType

_HAS_SCRIPT_PATH = not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated)
_kept: "list[ModuleType]" = []
"""The main module of the interpreter before the fork; it would take time to free it."""


def become(script: str, arguments: "list[str]", fresh: "dict[str, object]") -> None:
    """Make this the process of a script: its arguments, its path, its main module. `fresh` are the names in the main
    module of an interpreter at its start."""
    sys.argv = [script, *arguments]
    if _HAS_SCRIPT_PATH:
        sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
    _renew()
    main = ModuleType("__main__")
    vars(main).clear()
    loader = type(fresh["__loader__"])("__main__", script)  # type: ignore[call-arg]
    vars(main).update(fresh, __file__=script, __loader__=loader)
    if "__annotations__" in fresh:
        main.__annotations__ = {}
    _kept.append(sys.modules["__main__"])
    sys.modules["__main__"] = main


def _renew() -> None:
    """What modules of the standard library remember of the moment or the process in which they were imported."""
    if "threading" in sys.modules:
        getattr(sys.modules["threading"].main_thread(), "_set_native_id", int)()
    if "logging" in sys.modules:
        names = vars(sys.modules["logging"])
        names["_startTime"] = time.time_ns() if isinstance(names["_startTime"], int) else time.time()
    if "multiprocessing.process" in sys.modules:
        process = sys.modules["multiprocessing.process"]
        vars(process)["ORIGINAL_DIR"] = os.path.abspath(os.getcwd())
        process.current_process().authkey = os.urandom(32)


def show_exception(hook: "Callable[..., object]", kind: type, error: BaseException, trace: TracebackType) -> object:
    """`sys.excepthook` for a script that ends by an exception: without the frame that has executed it."""
    return hook(kind, error.with_traceback(trace.tb_next), trace.tb_next)


def finish(status: int, before: "frozenset[str]", callbacks: int) -> None:
    """End the process as Py_FinalizeEx would, in the same order. `before` are the modules, and `callbacks` the number
    of functions for the exit, that were there before the script. Returns where only the interpreter can do that."""
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()
    if _thread._count() or atexit._ncallbacks() > callbacks:
        return
    atexit._run_exitfuncs()
    _flush()
    if gc.isenabled():
        gc.collect()  # and by that the order in which the next one finds files and their buffers
    popped = (sys.modules.pop(name) for name in ["__main__", *reversed(_new_modules(before))])
    modules = [ref(module) for module in popped if isinstance(module, ModuleType)]
    gc.collect()
    for module in filter(None, (reference() for reference in reversed(modules))):
        space = vars(module)
        for name in [name for name in space if name != "__builtins__"]:
            space[name] = None
    gc.collect()
    for thing in gc.get_objects():
        if hasattr(type(thing), "__del__") and not isinstance(thing, GeneratorType):
            thing.__del__()
    _flush()
    ctypes.pythonapi.exit(status)


def _new_modules(before: "frozenset[str]") -> "list[str]":
    """The last ones in `sys.modules`: to look at all of them would copy the pages that have their names."""
    names = []
    for name in reversed(sys.modules) if sys.version_info >= (3, 8) else reversed(list(sys.modules)):
        if name in before:
            break
        names.append(name)
    return names


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
