#!/bin/bash
# README's ways in, as a stranger takes them: from empty folders, with nothing but what README says.
# Prints "ok NAME" or "not ok NAME" for each test; run by ./dev test, or alone.
set -u
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
work=$(mktemp -d /tmp/strangers.XXXXXX)
cleanup() {
  [ ! -d "$work/hello" ] || (cd "$work/hello" && "$checkout/dev" bazel shutdown) >/dev/null 2>&1
  rm -rf "$work"
}
trap cleanup EXIT
failures=0
ln -s "$checkout" "$work/rlxgpu"

test_case() {  # NAME FUNCTION: passes when the function succeeds; what it printed is shown when it fails
  if (set -e; cd "$work"; "$2") >"$work/output" 2>&1; then
    echo "ok $1"
  else
    echo "not ok $1"
    tail -n 40 "$work/output" | sed 's/^/  /'
    failures=$((failures + 1))
  fi
}

block() {  # HEADING LANGUAGE N: the Nth such block of a section of README
  awk -v heading="## $1" -v fence="\`\`\`$2" -v wanted="$3" '
    /^## / { inside = $0 == heading; n = 0 }
    inside && copying && /^```$/ { found = 1; exit }
    copying { print }
    inside && $0 == fence && ++n == wanted { copying = 1 }
    END { exit !found }' "$checkout/README.md"
}
bazel="In a Bazel project"
# With g++, so that what tests/consumer has compiled is not compiled again. Bazel's sandbox hides /tmp, where these folders are.
gcc=(--repo_env=CC=gcc --noincompatible_sandbox_hermetic_tmp --ui_event_filters=-info --noshow_progress)
prints_what_readme_says() { diff <(block "A complete program" text 1) "$1"; }

bazel_project() {
  mkdir hello && cd hello
  block "$bazel" python 1 >MODULE.bazel
  block "$bazel" sh 1 >.bazelrc
  block "$bazel" python 2 >BUILD.bazel
  block "A complete program" cpp 1 >hello.cc
  [ "$(block "$bazel" sh 2)" = "../rlxgpu/dev bazel run //:hello" ]
  ../rlxgpu/dev bazel run "${gcc[@]}" //:hello >../printed
  prints_what_readme_says ../printed
}

# A module of another registry, and a warning in the stranger's own file.
own_modules_and_warnings() {
  cd hello
  mkdir -p ../registry/modules/greeting/1.0 ../greeting
  echo 'module(name = "greeting", version = "1.0")' | tee ../greeting/MODULE.bazel >../registry/modules/greeting/1.0/MODULE.bazel
  echo '{"mirrors": [], "module_base_path": "."}' >../registry/bazel_registry.json
  printf '{"type": "local_path", "path": "%s"}\n' "$work/greeting" >../registry/modules/greeting/1.0/source.json
  printf '%s\n' 'cc_library(name = "greeting", hdrs = ["greeting.h"], visibility = ["//visibility:public"])' |
    sed '1iload("@rules_cc//cc:defs.bzl", "cc_library")' >../greeting/BUILD.bazel
  echo 'bazel_dep(name = "rules_cc", version = "0.0.17")' >>../greeting/MODULE.bazel
  cp ../greeting/MODULE.bazel ../registry/modules/greeting/1.0/MODULE.bazel
  echo 'inline const char* greeting() { return "hello"; }' >../greeting/greeting.h
  echo "common --registry=file://$work/registry" >>.bazelrc
  echo 'bazel_dep(name = "greeting", version = "1.0")' >>MODULE.bazel
  printf '#include <cstdio>\n#include "greeting.h"\nstatic int unused() { return 1; }\nint main() { std::puts(greeting()); }\n' >greet.cc
  printf 'cc_binary(name = "greet", srcs = ["greet.cc"], deps = ["@greeting"])\n' >>BUILD.bazel
  ../rlxgpu/dev bazel run "${gcc[@]}" //:greet >../printed 2>../said
  cat ../said
  grep -q "unused" ../said  # it was compiled with warnings
  [ "$(cat ../printed)" = hello ]
}

optional_parts() {
  cd hello
  ../rlxgpu/dev bazel query --noshow_progress 'deps(//:hello)' >../needed
  grep -q '@dawn//\|~dawn//' ../needed
  ! grep -i 'cli11\|protobuf\|onnx' ../needed
}

# A copy of the system's Dawn, as its own `cmake --install` would leave it; and a folder that has none.
prefix() {
  cd hello
  mkdir -p ../prefix/include ../prefix/lib
  "$checkout/dev" shell -c "cp -R /usr/include/webgpu $work/prefix/include; cp -R /usr/include/dawn $work/prefix/include || true
    cp -a /usr/lib/*/libwebgpu_dawn.so* $work/prefix/lib"
  ../rlxgpu/dev bazel run "${gcc[@]}" --repo_env=RLXGPU_DAWN="$work/prefix" //:hello >../printed
  prints_what_readme_says ../printed
  "$checkout/dev" shell ldd bazel-bin/hello >../linked || true
  mkdir ../nothing
  if ../rlxgpu/dev bazel build "${gcc[@]}" --repo_env=RLXGPU_DAWN="$work/nothing" //:hello 2>../said; then return 1; fi
  cat ../said
  grep -qF "Dawn was not found in RLXGPU_DAWN=$work/nothing" ../said
}

# A revision of a bare clone. The environment has no git of its own, so it is lent this machine's.
revision() {
  cd hello
  git clone --quiet --bare --no-hardlinks "$checkout" ../rlxgpu.git
  mkdir ../git
  cp -L "$(command -v git)" ../git/git
  cp -RL "$(git --exec-path)" ../git/core
  ldd ../git/git | awk '$2 == "=>" && $1 ~ /pcre|libz/ {print $3}' | xargs -I {} cp -L {} ../git
  sed -i '/^local_path_override/d' MODULE.bazel
  block "$bazel" python 3 | sed "s|REMOTE|file://$work/rlxgpu.git|; s|COMMIT|$(git -C "$checkout" rev-parse HEAD)|" >>MODULE.bazel
  grep -q rlxgpu.git MODULE.bazel
  (
    # shellcheck source=dev
    . "$checkout/dev"
    set_up "$base_packages"
    variables+=(PATH="$work/git:/usr/bin:/bin:/usr/sbin:/sbin" GIT_EXEC_PATH="$work/git/core" LD_LIBRARY_PATH="$work/git"
      GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*')
    run_bazel run "${gcc[@]}" //:hello
  ) >../printed
  prints_what_readme_says ../printed
}

where_you_are() {
  mkdir here && cd here
  [ "$(../rlxgpu/dev shell pwd)" = "$work/here" ]
  python3 "$checkout/tests/install/models.py" .
  ../rlxgpu/dev rlxgpu inspect model.onnx
  ../rlxgpu/dev rlxgpu --help | grep -q inspect
  cd /usr && ! "$checkout/dev" shell pwd 2>"$work/said"
  grep -q "/usr cannot be seen in the environment" "$work/said"
}

test_case "README's Bazel project builds and runs in an empty folder" bazel_project
test_case "a program that reads no model files needs neither CLI11 nor ONNX nor protobuf" optional_parts
test_case "modules of other registries can be added, and warnings of a stranger's files are no errors" own_modules_and_warnings
test_case "Dawn is taken from a prefix, and a prefix without it is named" prefix
test_case "a revision of a repository does as well as a folder" revision
test_case "dev shell and dev rlxgpu work in the folder where you are, or refuse" where_you_are
[ "$failures" = 0 ]
