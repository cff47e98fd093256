"""Pictures decoded by processes of our own, beside the one that feeds a GPU.

Pillow's AVIF decoder holds the interpreter's lock, so that threads decode no faster than one of them. Processes do;
and a decoder that crashes on a hostile file takes its process with it instead of the whole run.
"""

from types import TracebackType

from deepbinaries.vision.decoder_messages import Files, read_answer, write_request
from deepbinaries.vision.pixels import Pixels
from deepbinaries.vision.processes import SECONDS, DiedError, Pipes, Processes, crashed, too_slow

WORKER = "deepbinaries.vision.decoder_worker"


class Decoders:
    """At most `n` processes that decode pictures, each started when it is first needed. Threads may share one of these.

    One that needs more than `seconds` of the processor for a picture is ended, and with `memory` it may take so many
    bytes.

    >>> with Decoders(1) as decoders:
    ...     decoders.read([("a.jpg", b"not a picture")])
    ['a.jpg is no picture this program can read; save it as JPEG, PNG, WebP or AVIF']
    """

    def __init__(self, n: int, *, seconds: int = SECONDS, memory: int | None = None):
        self._processes = Processes(n, WORKER, seconds=seconds, memory=memory)

    def read(self, files: Files, *, at_least: int | None = None) -> list[Pixels | str]:
        """The pixels of each file, as `read_picture` decodes it, or the reason why it cannot be read.

        When a process dies, each of the pictures that it has not answered for is tried again alone.
        """
        answers: list[Pixels | str] = []
        alone = False
        while len(answers) < len(files):
            some = files[len(answers) :][: 1 if alone else None]
            try:
                with self._processes.one() as pipes:
                    _ask(pipes, some, at_least, answers)
            except DiedError as died:
                if alone or (died.late and len(some) == 1):
                    answers.append((too_slow if died.late else crashed)(files[len(answers)][0]))
                alone = True
        return answers

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        self._processes.close()

    def __enter__(self) -> "Decoders":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _ask(pipes: Pipes, files: Files, at_least: int | None, answers: list[Pixels | str]) -> None:
    """Add the answers for these files as they come; EOFError or BrokenPipeError when the process dies."""
    write_request(pipes.asked, files, at_least)
    wanted = len(answers) + len(files)
    while len(answers) < wanted:
        answers += read_answer(pipes.answered)
