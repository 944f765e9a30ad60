#!/bin/sh
# Run a command as on an x86-64 CPU without AMX, as scripts/as-avx2.sh does for one with AVX2.
export KGEN_DISABLE_CPU_FEATURES="amx_*"
export ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 # oneDNN's C library, and PyTorch's
exec "$@"
