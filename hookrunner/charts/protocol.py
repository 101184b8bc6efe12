"""How the renderer and its worker tell where a message ends."""

import struct

LENGTH = struct.Struct("!I")
