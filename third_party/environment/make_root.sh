# Makes the Debian forky root in which rlxgpu is built where the host has no Bazel 7 and no Dawn.
# Sourced by dev; uses its `say`, `die`, `cache`, `environment`.
#
#   make_root LIST...      # sets root to a folder that holds the packages of these lists
#
# A root is known by the hash of what it is made from, is built under a temporary name and renamed when whole, so an
# interrupted build is never taken for a root. One build at a time; others wait. All processes of a build live in one
# PID and mount namespace, so whatever kills ./dev also ends them and their mounts.

forky=forky          # the first Debian with Dawn, and with a Bazel that knows modules
root_megabytes=3500  # what a build needs at its peak

packages_of() { sed 's/#.*//' "$@" | tr -s ' \t' '\n' | grep -v '^$' | sort -u; }

root_key() {  # LIST...
  { packages_of "$@"; declare -f build_root; cat "$environment/swiftshader.sh"; uname -m; } | sha256sum | cut -c1-12
}

# The address from which the host takes Debian itself, from its own apt configuration (either syntax).
host_mirror() {
  local codename
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  apt-get --print-uris update 2>/dev/null |
    sed -nE "s#^'([a-z+]+:.*[^/])/*/dists/${codename:-none}/(InRelease|Release).*#\1#p" | head -n 1
}

make_root() {
  local key started mirror
  key=$(root_key "$@")
  root=$cache/roots/$key
  if [ -e "$root/.rlxgpu-root" ]; then touch "$root/.rlxgpu-root" 2>/dev/null || true; return; fi

  install_host_tools
  exec 8>"$cache/roots/lock"
  if ! flock --nonblock 8; then
    say "another ./dev is making the environment; waiting for it"
    flock 8
  fi
  remove_leftovers
  if [ -e "$root/.rlxgpu-root" ]; then exec 8>&-; return; fi

  mirror=$(host_mirror)
  [ -n "$mirror" ] || die "apt on this machine names no Debian mirror, so there is nothing to make the environment from"
  need_space
  say "making the build environment, once for all checkouts: Debian $forky in $root"
  say "about 3 minutes, 0.7 GB to download, 2.5 GB on disk; the log is $cache/roots/log"
  started=$SECONDS
  local new=$root.tmp.$$
  mkdir "$new"
  if ! build_root "$new" "$mirror" "$@"; then
    remove_tree "$new"
    die "the environment could not be made: $(why_failed) (log: $cache/roots/log); nothing half-made is left, run the command again"
  fi
  mv -T "$new" "$root"
  exec 8>&-
  say "the environment is ready after $((SECONDS - started)) s"
}

# The tools on the host that make a root. Only here is something installed on the host, and only by root.
install_host_tools() {
  local tools=mmdebstrap
  if [ "$(id -u)" != 0 ] && ! command -v newuidmap >/dev/null; then tools="mmdebstrap uidmap"; fi
  if [ "$tools" = mmdebstrap ] && command -v mmdebstrap >/dev/null; then return; fi
  command -v apt-get >/dev/null ||
    die "this is not a Debian system; run ./dev in a container of Debian $forky, or use Bazel 7 and Dawn of your own (README)"
  [ "$(id -u)" = 0 ] || die "the environment is made by mmdebstrap, which is missing: run \`sudo apt-get install $tools\` once"
  say "installing $tools on this machine with apt"
  { apt-get -q -o Acquire::Check-Valid-Until=false update && apt-get -q install -y --no-install-recommends $tools; } \
      </dev/null >"$cache/roots/log" 2>&1 ||
    die "apt could not install $tools: $(why_failed) (log: $cache/roots/log)"
}

need_space() {
  local free
  free=$(df -Pm "$cache" | awk 'NR == 2 {print $4}')
  [ "$free" -ge "$root_megabytes" ] ||
    die "the disk is too full: the environment needs $root_megabytes MB in $cache, $free MB are free (set XDG_CACHE_HOME to use another disk)"
}

build_root() {  # NEW MIRROR LIST...
  local new=$1 mirror=$2
  shift 2
  local hook="install -m 755 '$environment/swiftshader.sh' \"\$1/tmp/\" && chroot \"\$1\" /tmp/swiftshader.sh /opt/swiftshader && rm \"\$1/tmp/swiftshader.sh\""
  local command=(mmdebstrap --variant=apt --skip=output/dev
    --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Retries "3"'
    --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/locale/*'
    --include="$(packages_of "$@" | paste -sd,)" --customize-hook="$hook")
  if [ "$(id -u)" = 0 ]; then
    setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc \
      "${command[@]}" --mode=root "$forky" "$new" "$mirror" </dev/null 8>&- 2>&1 | show_progress
  else  # through tar, so that every file belongs to the user and rm can remove it
    set -o pipefail
    setpriv --pdeathsig KILL "${command[@]}" --mode=unshare "$forky" - "$mirror" </dev/null 8>&- 2> >(show_progress) |
      tar -x -C "$new" --exclude='./dev/*'
  fi || return 1
  [ -x "$new/usr/bin/bazel" ] || return 1
  mkdir -p "$new"/{dev,proc,sys,tmp}
  packages_of "$@" >"$new/.rlxgpu-packages"
  sha256sum <"$new/var/lib/dpkg/status" | cut -c1-12 >"$new/.rlxgpu-root"
}

# mmdebstrap's log goes to a file; its stages to the terminal, each with the seconds since the start.
show_progress() {
  local began=$SECONDS line
  : >"$cache/roots/log"
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$cache/roots/log"
    case $line in
      I:*update*) say "  $((SECONDS - began)) s: reading the package lists" ;;
      I:*downloading*) say "  $((SECONDS - began)) s: downloading the base system" ;;
      I:*"installing remaining"*) say "  $((SECONDS - began)) s: downloading and installing the packages" ;;
      I:*customize*) say "  $((SECONDS - began)) s: taking SwiftShader out of chromium" ;;
      I:*cleaning*) say "  $((SECONDS - began)) s: cleaning up" ;;
    esac
  done
}

# One sentence for the usual causes, else the log's last complaint.
why_failed() {
  local log=$cache/roots/log
  if grep -qiE 'no space left|not enough free space' "$log" 2>/dev/null; then echo "the disk is full"
  elif grep -qiE 'could not resolve|temporary failure|could not connect|connection (refused|timed out|failed)|network is unreachable|unable to connect' "$log"; then
    echo "the Debian mirror cannot be reached, is the network up?"
  elif grep -qiE 'permission denied|operation not permitted|cannot.*unshare|subuid' "$log"; then
    echo "this user may not make it ($(grep -iE -m1 'permission denied|operation not permitted|cannot.*unshare|subuid' "$log"))"
  else grep -E '^E:|rror' "$log" 2>/dev/null | tail -n 1 | grep . || echo "interrupted"
  fi
}

# What killed builds left. Only called with the lock held, so no name here is in use.
remove_leftovers() {
  local old
  for old in "$cache"/roots/*.tmp.*; do
    if [ -e "$old" ]; then
      say "removing what an interrupted build left"
      remove_tree "$old"
    fi
  done
  # Roots that no checkout has entered for two months.
  for old in $(find "$cache"/roots -mindepth 2 -maxdepth 2 -name .rlxgpu-root -mtime +60 2>/dev/null); do
    remove_tree "${old%/.rlxgpu-root}"
  done
}

# Never through a mount: a root in which something is mounted is left alone.
remove_tree() {
  if grep -q " $1/" /proc/self/mountinfo; then
    say "not removing $1: something is mounted in it"
    return
  fi
  rm -rf --one-file-system "$1"
}
