#!/bin/bash
# Tests of the dev script: what it says and leaves behind when things go wrong. A fake mmdebstrap stands for the slow one.
# Prints "ok NAME" or "not ok NAME" for each test; run by ./dev test, or alone.
set -u
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
work=$(mktemp -d)
trap 'kill -KILL $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
failures=0
unset RLXGPU_IN_ROOT
export RLXGPU_IGNORE_HOST=1  # as on a machine without Bazel and Dawn

test_case() {  # NAME FUNCTION: passes when the function succeeds; what it printed is shown when it fails
  export XDG_CACHE_HOME=$work/$2
  mkdir -p "$XDG_CACHE_HOME"
  roots=$XDG_CACHE_HOME/rlxgpu/roots
  if "$2" >"$work/output" 2>&1; then
    echo "ok $1"
  else
    echo "not ok $1"
    sed 's/^/  /' "$work/output"
    failures=$((failures + 1))
  fi
}

# Runs a function of dev, with fakes before the real programs.
call() { PATH=$work/bin:$PATH bash -c '. "$1/dev" && "${@:2}"' dev "$checkout" "$@"; }
make() { call eval "$make"; }
make='find_cache && make_root "${list:-$base_packages}" && echo "made $root"'
says() { grep -F -- "$1" "$work/output" >/dev/null || { echo "expected to read: $1"; return 1; }; }
fails() { ! "$@"; }
empty() { [ -z "$(find "$roots" -mindepth 1 -maxdepth 1 ! -name lock ! -name log)" ] || { ls -l "$roots"; return 1; }; }
wait_for() { for _ in $(seq 100); do "$@" && return; sleep 0.05; done; echo "waited in vain: $*"; return 1; }
running() { ! flock --nonblock "$work/alive" true; }

# FAKE says what the fake does: nothing (a good root), hang, or the words of an error.
mkdir "$work/bin"
cat >"$work/bin/mmdebstrap" <<TEXT
#!/bin/bash
folder=\${@: -2:1}
echo "\$folder" >>"$work/calls"
mkdir -p "\$folder"/{usr/bin,var/lib/dpkg,tmp}
case \${FAKE:-} in
  "") sleep 0.5; cp /bin/true "\$folder/usr/bin/bazel"; echo status >"\$folder/var/lib/dpkg/status" ;;
  hang) mount -t tmpfs none "\$folder/tmp"; exec 7>"$work/alive"; flock 7; sleep 1000 ;;
  *) echo "\$FAKE"; exit 1 ;;
esac
TEXT
chmod +x "$work/bin/mmdebstrap"

help_names_every_command() {
  "$checkout/dev" --help >"$work/help" || return
  for command in test demo bench gpus fuzz models networks rlxgpu install bazel shell doctor --help; do
    grep -E "^  $command( |$)" "$work/help" >/dev/null || { echo "no $command"; return 1; }
  done
}

unknown_command() {
  "$checkout/dev" tset
  [ $? = 2 ] && says 'there is no command "tset"'
}

all_of_some_targets() {
  call eval 'bazel_test() { :; }; options=(); run_other_tests //tests:some_test'
  says "real networks are left out"
}

no_permission() { XDG_CACHE_HOME=/proc/nowhere fails make && says "no permission to write to /proc/nowhere/rlxgpu"; }
no_home() { (unset HOME XDG_CACHE_HOME; fails make) && says "neither HOME nor XDG_CACHE_HOME is set"; }

# A host that takes Debian from one address, in the given file of /etc/apt.
mirror_in() {  # FILE TEXT
  local apt=$XDG_CACHE_HOME/apt codename
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  rm -rf "$apt"
  mkdir -p "$apt/parts"
  printf "${2//CODENAME/$codename}" >"$apt/$1"
  printf 'Dir::Etc::SourceList "%s/sources.list";\nDir::Etc::SourceParts "%s/parts";\n' "$apt" "$apt" >"$apt/conf"
  APT_CONFIG=$apt/conf call host_mirror
}

mirror_of_host() {
  local one two
  one=$(mirror_in sources.list 'deb [arch=amd64] http://one.example/debian/ CODENAME-security main\ndeb http://two.example/debian/ CODENAME main\n')
  two=$(mirror_in parts/debian.sources 'Types: deb\nURIs: http://three.example/debian\nSuites: CODENAME CODENAME-updates\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n')
  echo "$one" "$two"
  [ "$one $two" = "http://two.example/debian http://three.example/debian" ]
}

no_mirror() {
  mkdir "$XDG_CACHE_HOME/apt"
  echo "Dir::Etc \"$XDG_CACHE_HOME/apt\";" >"$XDG_CACHE_HOME/conf"
  APT_CONFIG=$XDG_CACHE_HOME/conf fails make && says "apt on this machine names no Debian mirror" && empty
}

no_network() { FAKE="Could not resolve 'a.example'" fails make && says "cannot be reached, is the network up?" && empty; }
disk_fills() { FAKE="write error: No space left on device" fails make && says "the disk is full" && empty; }
other_error() { FAKE="E: the moon is wrong" fails make && says "could not be made: E: the moon is wrong" && empty; }

disk_too_full() {
  printf '#!/bin/sh\necho head\necho none 9 9 17 1%% /\n' >"$work/bin/df"
  chmod +x "$work/bin/df"
  fails make
  local status=$?
  rm "$work/bin/df"
  [ $status = 0 ] && says "17 MB are free" && empty
}

# Starts a make that does not end, and gives it a signal.
hang_and_signal() {  # SIGNAL
  local dev
  FAKE=hang PATH=$work/bin:$PATH bash -c '. "$1/dev" && eval "$2"' dev "$checkout" "$make" &
  dev=$!
  wait_for running && kill "-$1" "$dev" && wait_for fails running && wait "$dev"
}

terminated() {
  hang_and_signal TERM
  fails running || return
  says "interrupted; nothing half-made is left" && empty
}

killed_and_started_again() {
  hang_and_signal KILL
  fails running && fails empty >/dev/null && fails grep "$roots" /proc/mounts && make && says "removing what an interrupted build left" || return
  [ "$(ls -d "$roots"/*.tmp.* 2>/dev/null)" = "" ]
}

two_at_once() {
  : >"$work/calls"
  make &
  sleep 0.1
  make && wait $! && [ "$(wc -l <"$work/calls")" = 1 ] && says "another ./dev is making the environment; waiting for it"
}

list_changes() {
  make && cp "$checkout/third_party/environment/packages.txt" "$work/list" && echo "# a remark" >>"$work/list" || return
  : >"$work/calls"
  list=$work/list make && [ ! -s "$work/calls" ] && echo hello >>"$work/list" && list=$work/list make && [ -s "$work/calls" ] &&
    [ "$(ls -d "$roots"/*/ | wc -l)" = 2 ]
}
export list=

counts() {
  cat >"$work/a.xml" <<'TEXT'
<testsuites><testsuite><testcase name="a"/><testcase name="b"><failure/></testcase><testcase name="c"><skipped/></testcase></testsuite></testsuites>
TEXT
  local result='{"id":{"testResult":{"label":"%s","run":1,"shard":%s}},"testResult":{"status":"%s","testActionOutput":[{"name":"test.xml","uri":"file://%s"}]}}\n'
  {
    printf "$result" //:cases 1 FAILED "$work/a.xml"
    printf "$result" //:no_xml 1 PASSED "$work/none.xml"
    printf "$result" //:timeout 1 TIMEOUT "$work/none.xml"
    printf "$result" //:retried 1 FAILED "$work/none.xml"
    printf "$result" //:retried 1 PASSED "$work/none.xml"
  } >"$work/events"
  [ "$(python3 "$checkout/third_party/environment/count_tests.py" "$work/events" | tee /dev/stderr)" = "3 2 1" ]
}

test_case "--all with targets says that networks are left out" all_of_some_targets
test_case "dev --help names every command" help_names_every_command
test_case "an unknown command is refused with status 2" unknown_command
test_case "a cache folder without permission is one sentence" no_permission
test_case "no HOME is one sentence" no_home
test_case "the mirror comes from apt's own configuration, in both syntaxes" mirror_of_host
test_case "a host without a Debian mirror is one sentence" no_mirror
test_case "without a network nothing half-made is left" no_network
test_case "a disk that fills up leaves nothing half-made" disk_fills
test_case "a disk too full is refused before anything is made" disk_too_full
test_case "another error of mmdebstrap is passed on" other_error
test_case "an interrupted build ends its processes and leaves nothing" terminated
test_case "a killed build ends its processes and mounts, and the next start works" killed_and_started_again
test_case "two started at once make one environment" two_at_once
test_case "a changed package list makes another environment, a changed remark does not" list_changes
test_case "cases, crashes, retries and skips are counted" counts
[ "$failures" = 0 ]
