"""Export a PyTorch module to ONNX, compile it for this machine, run it, and compare the results.

Needs torch, onnx and onnxscript.

    python examples/pytorch_module.py
"""

import torch

import kgen
import kgen_runtime

layers = torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 4)
module, x = torch.nn.Sequential(*layers).eval(), torch.randn(8, 16)
torch.onnx.export(module, (x,), "module.onnx", input_names=["x"], dynamo=True)
kgen.compile_model("module.onnx", ["native"]).save("module.kgen")

program = kgen_runtime.load("module.kgen").program
y = program.run(x=x)  # a torch.Tensor, like x
torch.testing.assert_close(y, module(x))
