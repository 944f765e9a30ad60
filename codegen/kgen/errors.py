"""The error tree, which both halves share; see :mod:`kgen_runtime.errors` for the drawing."""

from kgen_runtime.errors import *  # noqa: F403
from kgen_runtime.errors import __all__ as __all__
