from mailroom_common.errors import Rejected


class Unreadable(Rejected):
    """A reader's own word that it cannot read this file: `reason` is one of the words our APIs show."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"unreadable: {reason}")
        self.reason = reason


class ParserLimit(Rejected):
    """The file asked for more than a file may have: `limit` is memory, cpu, time or output."""

    def __init__(self, limit: str) -> None:
        super().__init__(f"the parser process reached its limit of {limit}")
        self.limit = limit


class ParserCrashed(Rejected):
    """The process died, or the reader raised what it did not foresee.

    `killed` says that somebody else killed it (the kernel short of memory, an operator): the one kind of death that
    says nothing about the file.
    """

    def __init__(self, how: str, *, killed: bool = False) -> None:
        super().__init__(f"the parser process crashed: {how}")
        self.killed = killed
