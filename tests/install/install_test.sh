#!/bin/bash
# What `./dev install PREFIX` makes, used by strangers: README's program, one with weights from a file and one with a graph
# from a file, each by CMake and by pkg-config, from an empty folder and with nothing of the checkout in sight.
set -euo pipefail
checkout=$PWD
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/install.XXXXXX")
if [ -n "${RLXGPU_LAVAPIPE_ICD:-}" ]; then export VK_DRIVER_FILES=$RLXGPU_LAVAPIPE_ICD VK_ICD_FILENAMES=$RLXGPU_LAVAPIPE_ICD; fi

rlxgpu/install/install.sh "$work/first"
mv "$work/first" "$work/prefix"  # it may be moved
prefix=$work/prefix
version=$(sed -nE 's/^#define RLXGPU_VERSION "(.*)"$/\1/p' "$prefix/include/rlxgpu/version.h")
grep -q "^    version = \"$version\",$" MODULE.bazel || { echo "rlxgpu/version.h says $version, MODULE.bazel another"; exit 1; }
"$prefix/bin/rlxgpu" --help >"$work/help"
grep -q inspect "$work/help"

mkdir "$work/project"
cd "$work/project"
awk '/^## / {inside = $0 == "## A complete program"} inside && copying && /^```$/ {exit} copying {print}
  inside && $0 == "```cpp" {copying = 1}' "$checkout/README.md" >hello.cc
awk '/^## / {inside = $0 == "## A complete program"} inside && copying && /^```$/ {exit} copying {print}
  inside && $0 == "```text" {copying = 1}' "$checkout/README.md" >hello.txt
cp "$checkout"/tests/install/{CMakeLists.txt,safetensors.cc,onnx.cc} .
python3 "$checkout/tests/install/models.py" .
echo "2 8 24" >safetensors.txt
echo "0 2 0.5" >onnx.txt

compare() {  # FOLDER OF PROGRAMS
  for name in hello safetensors onnx; do
    "$1/$name" >found.txt || { cat found.txt; echo "$1/$name failed"; exit 1; }
    diff "$name.txt" found.txt || { echo "$1/$name prints something else"; exit 1; }
  done
}

cmake -G Ninja -S . -B build -D CMAKE_PREFIX_PATH="$prefix" >cmake.txt || { cat cmake.txt; exit 1; }
ninja -C build >ninja.txt || { cat ninja.txt; exit 1; }
compare build

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
[ "$(pkg-config --modversion rlxgpu)" = "$version" ]
mkdir by_hand
for name in hello safetensors onnx; do
  package=rlxgpu
  if [ $name = onnx ]; then package=rlxgpu-onnx; fi
  g++ -std=c++20 $name.cc $(pkg-config --cflags --libs $package) -o by_hand/$name
done
compare by_hand
echo "hello, safetensors and onnx, by CMake and by pkg-config"
