"""Cases whose expected values kgen does not follow, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping

_CORNERS = (
    "ONNX's values place the last corner at the length times the scale, which is no whole number; "
    "kgen, ONNX Runtime and OpenVINO place it at the last element of the result"
)
#: Reasons by the names of cases. ONNX Runtime and OpenVINO agree with kgen in each of them.
EXCEPTIONS: Mapping[str, str] = {
    "test_resize_downsample_scales_cubic_align_corners": _CORNERS,
    "test_resize_downsample_scales_linear_align_corners": _CORNERS,
}
