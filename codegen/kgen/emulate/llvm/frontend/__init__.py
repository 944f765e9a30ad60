"""Front end for LLVM IR text: tokens, a module, and instructions decoded to closures."""
