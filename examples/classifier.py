"""Two layers and a softmax in one bundle, with prepacked weights and prepared calls.

A model with a fixed batch size calls the same kernels on the same memory many times, so arguments
are checked and weights are packed only once.
"""

import numpy as np

import kgen
import kgen_runtime

BATCH, INPUTS, HIDDEN, CLASSES = 16, 64, 96, 10

first = kgen.Matmul(
    m=BATCH, n=HIDDEN, k=INPUTS, dtype="f32", epilogue=("bias", "gelu_tanh"), constant=("b",)
)
second = kgen.Matmul(m=BATCH, n=CLASSES, k=HIDDEN, dtype="f32", epilogue=("bias",), constant=("b",))
softmax = kgen.Rowwise(expression="softmax(x)", shapes=((BATCH, CLASSES),), dtype="f32")
kgen.build([first, second, softmax], ["native"]).save("classifier.kgen")

random = np.random.default_rng(0)
w1, b1 = random.standard_normal((INPUTS, HIDDEN), "f") / 8, random.standard_normal(HIDDEN, "f")
w2, b2 = random.standard_normal((HIDDEN, CLASSES), "f") / 8, random.standard_normal(CLASSES, "f")
x = np.empty((BATCH, INPUTS), "f")

with kgen_runtime.load("classifier.kgen") as kernels:
    layer1, layer2 = kernels[first.key], kernels[second.key]
    hidden = layer1.prepare(x, layer1.pack(w1), bias=b1)  # each call reads x, writes hidden.out
    scores = layer2.prepare(hidden.out, layer2.pack(w2), bias=b2)
    shares = kernels.softmax.prepare(scores.out)

    for _ in range(3):
        x[:] = random.standard_normal(x.shape, "f")
        hidden(), scores(), shares()

        a = x @ w1 + b1
        a = 0.5 * a * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3)))
        e = np.exp(a @ w2 + b2)
        np.testing.assert_allclose(shares.out, e / e.sum(1, keepdims=True), rtol=1e-4, atol=1e-6)
        print("most likely:", shares.out.argmax(1))
