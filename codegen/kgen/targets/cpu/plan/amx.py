"""The plan of matmul_amx.ll.j2: bf16 products on AMX tiles."""

from __future__ import annotations
from kgen.schedule import CpuMatmul
from kgen.spec import Matmul
from kgen.targets.base import Target, Plan

TILE_ROWS = 16
TILE_K = 32


def plan_amx(spec: Matmul, target: Target, schedule: CpuMatmul) -> Plan:
    raise NotImplementedError
