#!/bin/sh
# Install the Debian packages that building and testing use, or say which are missing.
# None of them is needed to build a kernel: they execute and check what was built.
set -u
packages="
python3-venv            # python -m venv
libvulkan1              # the Vulkan loader
mesa-vulkan-drivers     # lavapipe, the Vulkan driver that tests run on
vulkan-validationlayers # finds wrong use of the API
spirv-tools             # spirv-as and spirv-val, the oracles for our assembler
spirv-cross             # writes kernels for Metal (--target metal3)
spirv-headers           # the published grammar, the oracle for its table of instructions
qemu-user               # runs the aarch64 kernels
libc6-arm64-cross       # and the wheel's library for aarch64
musl                    # runs the wheel's library for musl
wine64                  # and what is for Windows
binutils                # objdump, for kgen inspect --disassemble
zsh                     # reads its script of kgen completion
fish                    # and its own
chromium                # looks at the page of kgen report
gcc                     # compiles the C runtime, which its tests run
g++                     # and a C++ program that includes its header
cmake                   # builds and finds the C runtime as CMake projects do
pkg-config              # and as others do
"
missing=""
for package in $(printf '%s\n' "$packages" | sed 's/#.*//'); do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
        missing="$missing $package"
done
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ]; then
    run=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    run="sudo"
else
    echo "missing Debian packages (no root to install them; going on without):$missing" >&2
    exit 0
fi
echo "installing Debian packages:$missing"
export DEBIAN_FRONTEND=noninteractive
if ! { $run apt-get update -qq && $run apt-get install -y -qq --no-install-recommends $missing; } >/dev/null; then
    echo "apt could not install these Debian packages; going on without:$missing" >&2
fi
