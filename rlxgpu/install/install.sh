#!/bin/bash
# Puts rlxgpu below a prefix: headers, static libraries, the command, and files for pkg-config and CMake.
#
#   install.sh PREFIX        run by Bazel (./dev install PREFIX), in a folder that has what is installed
set -euo pipefail
[ $# = 1 ] || { echo "give one folder: install PREFIX" >&2; exit 2; }
here=$PWD
case $1 in /*) prefix=$1 ;; *) prefix=${BUILD_WORKING_DIRECTORY:-$here}/$1 ;; esac
version=$(sed -nE 's/^ *version = "([^"]+)",$/\1/p' MODULE.bazel | head -n 1)
[ -n "$version" ] || { echo "MODULE.bazel has no version" >&2; exit 1; }

mkdir -p "$prefix"/{bin,include,lib/pkgconfig,lib/cmake/rlxgpu,share/doc/rlxgpu}
rm -rf "$prefix/include/rlxgpu"  # headers of an older version
find -L rlxgpu -name '*.h' -o -name '*.wgsl' | while read -r file; do install -D -m 644 "$file" "$prefix/include/$file"; done
install -m 644 rlxgpu/install/librlxgpu.a rlxgpu/install/librlxgpu_onnx.a "$prefix/lib"
install -m 755 rlxgpu/tools/rlxgpu "$prefix/bin/rlxgpu"
install -m 644 LICENSE "$prefix/share/doc/rlxgpu/LICENSE"
for name in rlxgpu.pc rlxgpu-onnx.pc; do
  sed "s/@VERSION@/$version/" "rlxgpu/install/$name.in" >"$prefix/lib/pkgconfig/$name"
done
for name in rlxgpuConfig.cmake rlxgpuConfigVersion.cmake; do
  sed "s/@VERSION@/$version/" "rlxgpu/install/$name.in" >"$prefix/lib/cmake/rlxgpu/$name"
done
echo "rlxgpu $version is in $prefix: headers, librlxgpu.a, librlxgpu_onnx.a, bin/rlxgpu, pkg-config and CMake files"
