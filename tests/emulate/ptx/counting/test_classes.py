"""The class by which each PTX instruction is counted."""

from __future__ import annotations

import pytest

from kgen.emulate.counters import MEANING
from kgen.emulate.ptx.counting.classes import class_of, matrix_name

CLASSES = {
    "integer": "add.s32 mul.wide.u32 mad.lo.s32 min.u64 div.s32 and.b32 xor.b64 shl.b32 lop3.b32"
    " shf.l.wrap.b32 bfe.u32 popc.b32 dp4a.s32.s32 cvta.to.global.u64 mapa.shared::cluster.u32"
    " abs.s32 add.s16x2",
    "float": "add.f32 sub.rn.f64 mul.f16x2 min.NaN.bf16x2 max.ftz.f32 neg.f32 abs.bf16"
    " copysign.f32",
    "fma": "fma.rn.f32 fma.rn.relu.bf16x2 mad.rn.f32",
    "special": "div.full.f32 div.rn.f64 rcp.approx.f32 sqrt.rn.f32 ex2.approx.ftz.f32"
    " tanh.approx.f32",
    "convert": "cvt.rn.f16x2.f32 cvt.u64.u32",
    "move": "mov.b64 selp.f32 prmt.b32",
    "compare": "setp.lt.u32 and.pred not.pred testp.finite.f32 isspacep.global",
    "control": "bra.uni ret exit trap",
    "matrix": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    " wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
    " wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16",
    "load.global": "ld.global.nc.v4.b32 ld.u8 ldu.global.f32"
    " wmma.load.a.sync.aligned.row.m16n16k16.global.f16",
    "load.shared": "ld.shared.f32 ld.shared::cluster.u32 ldmatrix.sync.aligned.m8n8.x4.shared.b16",
    "load.other": "ld.param.u64 ld.local.f32 ld.const.b32",
    "store.global": "st.global.v2.f32 st.wt.global.u8",
    "store.shared": "st.shared.b64 st.shared::cta.b32 stmatrix.sync.aligned.m8n8.x2.shared.b16",
    "store.other": "st.local.b32",
    "copy": "cp.async.cg.shared.global cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier"
    "::complete_tx::bytes cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32",
    "atomic": "atom.global.add.u32 red.shared.add.f32",
    "warp": "shfl.sync.bfly.b32 vote.sync.ballot.b32 elect.sync redux.sync.add.s32 activemask.b32",
    "barrier": "bar.sync bar.warp.sync barrier.cluster.arrive.release mbarrier.try_wait.parity.b64"
    " mbarrier.init.shared.b64 cp.async.wait_group cp.async.commit_group"
    " cp.async.bulk.wait_group.read cp.async.mbarrier.arrive.noinc.b64"
    " wgmma.wait_group.sync.aligned wgmma.commit_group.sync.aligned",
    "fence": "fence.proxy.async membar.gl wgmma.fence.sync.aligned"
    " fence.mbarrier_init.release.cluster",
    "other": "setmaxnreg.inc.sync.aligned.u32 nanosleep.u32 prefetch.global.L2",
}


@pytest.mark.parametrize("name", CLASSES)
def test_class(name: str) -> None:
    assert name in MEANING
    for opcode in CLASSES[name].split():
        assert class_of(opcode.split(".")) == name, opcode


@pytest.mark.parametrize(
    ("opcode", "name"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "mma.m16n8k16.bf16"),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "mma.m16n8k8.tf32"),
        ("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32", "mma.m16n8k32.s8"),
        ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", "mma.m16n8k32.e4m3"),
        ("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "mma.m16n8k64.s4"),
        ("wgmma.mma_async.sync.aligned.m64n128k32.f32.e5m2.e4m3", "wgmma.m64n128k32.e5m2"),
        ("wgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16", "wgmma.m64n64k16.f16"),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16", "wmma.m16n16k16.f16"),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32", "wmma.m16n16k16.bf16"),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", None),
    ],
)
def test_matrix_name(opcode: str, name: str | None) -> None:
    assert matrix_name(opcode.split(".")) == name
