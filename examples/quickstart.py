"""Compile, load and run a whole model on this CPU. torch.onnx.export wrote encoder.onnx."""

import numpy as np

import kgen
import kgen_runtime

kgen.compile_model("encoder.onnx", ["native"]).save("encoder.kgen")

program = kgen_runtime.load("encoder.kgen").program
ids = np.array([[2, 7, 1, 8, 2, 8, 1]])
mask = np.ones_like(ids)
hidden = program.run(input_ids=ids, attention_mask=mask, token_type_ids=0 * ids)
print(program, hidden.shape)
