"""The error tree, which both halves share; see :mod:`kgen_runtime.errors` for the drawing."""

from kgen_runtime.errors import *  # noqa: F403
from kgen_runtime.errors import SpecError
from kgen_runtime.errors import __all__ as __all__


class Unfit(SpecError):
    """About a word of an expression: a name, a function, which may be written as an operator, or a
    number. Whoever has the text makes a SpecError with its column of it."""

    def __init__(self, word: str, why: str) -> None:
        super().__init__(why)
        self.word = word
