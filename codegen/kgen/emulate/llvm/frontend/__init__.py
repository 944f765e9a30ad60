"""From textual LLVM IR to closures: tokens, a module, decoded instructions."""
