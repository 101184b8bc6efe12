"""What a hook prints goes to the log, with the context that is bound for its task.

The lines of both streams are read apart, so that one never cuts an object of the other in two.
"""

from hookrunner import log
from hookrunner.process.lines import Record, Records
from hookrunner.process.pipes import Stream

_LOG = log.get()


class HookLog:
    """The line sink of a hook's run. `multiline` is the flag `--log-proxy-hook-json`."""

    def __init__(self, multiline: bool = False) -> None:
        self._records = {Stream.STDOUT: Records(multiline), Stream.STDERR: Records(multiline)}

    def line(self, stream: Stream, text: str) -> None:
        self._write(stream, self._records[stream].feed(text))

    def ended(self, stream: Stream) -> None:
        self._write(stream, self._records[stream].flush())

    def _write(self, stream: Stream, records: list[Record]) -> None:
        for record in records:
            _LOG.log(record.level, record.message, output=stream.value, **record.fields)
