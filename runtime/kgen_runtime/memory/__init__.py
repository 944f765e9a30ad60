"""Host memory of tensors: DLPack exchange with other libraries, overlap checks, packing."""
