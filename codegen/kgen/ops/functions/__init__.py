"""Functions over the primitives, with one entry each in the registry (:mod:`kgen.ops.registry`).

The Python function of an entry is its expansion in f32. The reference computes the same functions
from their definitions (:mod:`kgen_runtime.expressions.definitions`) and shares nothing with these.
"""

# Modules in the order of the tables in the documentation.
# isort: off
from kgen.ops.functions import exact as exact
from kgen.ops.functions import arithmetic as arithmetic
from kgen.ops.functions import bitwise as bitwise
from kgen.ops.functions import conversions as conversions
from kgen.ops.functions import exponentials as exponentials
from kgen.ops.functions import activations as activations
from kgen.ops.functions import special as special
from kgen.ops.functions import trigonometry as trigonometry
