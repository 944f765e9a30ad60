#!/bin/sh
# Run a command as on an x86-64 CPU without AVX-512, AVX-VNNI and AMX: scripts/as-avx2.sh kgen bench x.kgen
#
# Every library chooses its own code, so each is told in its own words; children inherit them. ONNX
# Runtime knows no words: benchmarks/models/as_avx2.py makes a copy of it.
export KGEN_DISABLE_CPU_FEATURES="avx512*,avx_vnni*,amx_*"
export NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL AVX512_SPR" # numpy's own loops
export OPENBLAS_CORETYPE=Haswell                               # numpy's products
export ONEDNN_MAX_CPU_ISA=AVX2                                 # oneDNN's C library, and PyTorch's
export MKL_ENABLE_INSTRUCTIONS=AVX2                            # PyTorch's products of f32
export ATEN_CPU_CAPABILITY=avx2                                # PyTorch's own loops
# torch.compile's cache would give back what was compiled for the whole CPU.
export TORCHINDUCTOR_CACHE_DIR="${TMPDIR:-/tmp}/torchinductor-avx2"
exec "$@"
