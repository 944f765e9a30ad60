"""Exceptions of kgen; :mod:`kgen_runtime.errors` has the class tree, which the runtime shares."""

from kgen_runtime.errors import *  # noqa: F403
from kgen_runtime.errors import SpecError
from kgen_runtime.errors import __all__ as __all__


class Unfit(SpecError):
    """Fault of one word of an expression: a name, a function or its operator, or a number.

    Callers that have the text raise SpecError with the column of the word.
    """

    def __init__(self, word: str, why: str) -> None:
        super().__init__(why)
        self.word = word
