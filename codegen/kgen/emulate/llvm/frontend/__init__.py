"""Front end of LLVM IR text: tokens, a module, instructions decoded to closures."""
