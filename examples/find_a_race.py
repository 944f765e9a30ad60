"""Run a kernel that lacks a barrier, without a GPU: the emulator reports the race and its line."""

import numpy as np

from kgen import emulate

REVERSE = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry reverse(.param .u64 data)
{
    .shared .align 4 .b8 tile[256];
    .reg .u64 %data, %at;
    .reg .u32 %i, %j, %here, %there;
    .reg .f32 %x;
    ld.param.u64 %data, [data];
    mov.u32 %i, %tid.x;
    mad.wide.u32 %at, %i, 4, %data;
    ld.global.f32 %x, [%at];
    mov.u32 %here, tile;
    mad.lo.u32 %here, %i, 4, %here;
    st.shared.f32 [%here], %x;
    bar.sync 0;
    sub.u32 %j, 63, %i;
    mov.u32 %there, tile;
    mad.lo.u32 %there, %j, 4, %there;
    ld.shared.f32 %x, [%there];
    st.global.f32 [%at], %x;
    ret;
}
"""


def run(text: str) -> np.ndarray:
    data = np.arange(64, dtype=np.float32)
    emulate.run(
        text, language="ptx", entry="reverse", grid=(1, 1, 1), block=(64, 1, 1), arguments=[data]
    )
    return data


np.testing.assert_array_equal(run(REVERSE), np.arange(64)[::-1])
try:
    run(REVERSE.replace("bar.sync 0;", ""))
except emulate.EmulationFault as fault:
    print(fault)
    assert fault.fault.kind == "race"
