"""Build, load and call a fused layer on this CPU."""

import numpy as np

import kgen
import kgen_runtime

layer = kgen.Matmul(m=64, n=48, k=32, dtype="f32", epilogue=("bias", "relu"))
kgen.build(layer, ["native"]).save("layer.kgen")

kernels = kgen_runtime.load("layer.kgen")
x, w, bias = (np.random.default_rng(0).standard_normal(s, "f") for s in ((64, 32), (32, 48), 48))
y = kernels.matmul(x, w, bias=bias)

np.testing.assert_allclose(y, np.maximum(x @ w + bias, 0), rtol=1e-5, atol=1e-5)
print(kernels)
