"""WGSL kernels as written by hand: 16-byte loads and sums in registers."""

from __future__ import annotations

from benchmarks.vulkan.problems import Problem

Grid = tuple[int, int, int]

RELU = """
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3u,
                                      @builtin(num_workgroups) groups: vec3u) {
  let i = id.y * groups.x * 256u + id.x;
  if (i < COUNT) { y[i] = max(x[i], vec4f()); }
}
"""

#: A workgroup for each row.
SOFTMAX = """
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<workgroup> part: array<f32, 64>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) group: vec3u,
                                     @builtin(local_invocation_index) lane: u32) {
  let row = group.x * COLS;
  var most = -3.4e38;
  for (var i = lane; i < COLS; i += 64u) { most = max(most, x[row + i]); }
  part[lane] = most;
  workgroupBarrier();
  for (var step = 32u; step > 0u; step >>= 1u) {
    if (lane < step) { part[lane] = max(part[lane], part[lane + step]); }
    workgroupBarrier();
  }
  most = part[0];
  workgroupBarrier();
  var sum = 0.0;
  for (var i = lane; i < COLS; i += 64u) { sum += exp(x[row + i] - most); }
  part[lane] = sum;
  workgroupBarrier();
  for (var step = 32u; step > 0u; step >>= 1u) {
    if (lane < step) { part[lane] += part[lane + step]; }
    workgroupBarrier();
  }
  let scale = 1.0 / part[0];
  for (var i = lane; i < COLS; i += 64u) { y[row + i] = exp(x[row + i] - most) * scale; }
}
"""

#: ROWS x 4 sums per invocation, loaded directly from the buffers.
MATMUL = """
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> c: array<vec4f>;
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = id.x;
  let row = id.y * ROWS;
  if (column >= N / 4u || row >= M) { return; }
  var sums: array<vec4f, ROWS>;
  for (var k = 0u; k < K; k++) {
    let right = b[k * (N / 4u) + column];
    for (var i = 0u; i < ROWS; i++) {
      sums[i] = fma(vec4f(a[min(row + i, M - 1u) * K + k]), right, sums[i]);
    }
  }
  for (var i = 0u; i < ROWS; i++) {
    if (row + i < M) { c[(row + i) * (N / 4u) + column] = sums[i]; }
  }
}
"""


def kernel(problem: Problem) -> tuple[str, Grid]:
    """Return the text and the number of workgroups."""
    if problem.op == "relu":
        count = problem.out_shape[0] // 4
        groups = -(-count // 256)
        across = min(groups, 65535)
        return RELU.replace("COUNT", f"{count}u"), (across, -(-groups // across), 1)
    if problem.op == "softmax":
        rows, cols = problem.out_shape
        return SOFTMAX.replace("COLS", f"{cols}u"), (rows, 1, 1)
    m, n, k = problem.sizes
    rows = min(m, 4)
    text = MATMUL
    for name, value in (("ROWS", rows), ("M", m), ("N", n), ("K", k)):
        text = text.replace(f"{name} ", f"{value}u ").replace(f"{name})", f"{value}u)")
        text = text.replace(f"{name};", f"{value}u;").replace(f"{name}>", f"{value}u>")
    return text, (-(-n // 32), -(-m // (8 * rows)), 1)
