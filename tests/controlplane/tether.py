"""Becomes another program, which the kernel kills as soon as the one that started it ends, however that ends.

Run as a script: `python tether.py <pid of the starter> <program> <arguments>`. It is a program and not a `preexec_fn`,
because forking in a process with threads may deadlock and is a warning since Python 3.12.
Hazard: the kernel watches the *thread* that forked (`PR_SET_PDEATHSIG`, prctl(2)); see `Processes`.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1

ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit("the starter ended before this program began")
os.execv(sys.argv[2], sys.argv[2:])
