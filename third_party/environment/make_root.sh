# Makes the Debian forky root in which rlxgpu is built where the host has no Bazel 7 and no Dawn.
# Sourced by dev; uses its `say`, `die`, `cache`, `environment`, `namespaces`.
#
#   make_root LIST...      # sets root to a folder that holds the packages of these lists
#
# A root is known by the hash of what it is made from, is built under a temporary name and renamed when whole, so an
# interrupted build is never taken for a root. One build at a time; others wait. All processes of a build live in one
# PID and mount namespace that dies with ./dev, so whatever kills ./dev also ends them and their mounts.

forky=forky          # the first Debian with Dawn, and with a Bazel that knows modules
root_megabytes=3500  # what a build needs at its peak

packages_of() { sed 's/#.*//' "$@" | tr -s ' \t' '\n' | grep -v '^$' | sort -u; }

root_key() {  # LIST...
  { packages_of "$@"; declare -f start_mmdebstrap; cat "$environment/swiftshader.sh"; uname -m; } | sha256sum | cut -c1-12
}

root_of() { echo "$cache/roots/$(root_key "$@")"; }  # LIST...

make_root() {
  root=$(root_of "$@")
  if [ -e "$root/.rlxgpu-root" ]; then
    touch "$root/.rlxgpu-root" 2>/dev/null || true
    return
  fi
  exec 8>"$cache/roots/lock"
  if ! flock --nonblock 8; then
    say "another ./dev is making the environment; waiting for it"
    flock 8
  fi
  if [ ! -e "$root/.rlxgpu-root" ]; then
    remove_leftovers
    install_host_tools
    make_locked_root "$@"
  fi
  exec 8>&-
}

make_locked_root() {  # LIST...; with the lock held
  local mirror status=0 interrupted= started=$SECONDS new=$root.tmp.$$
  mirror=$(host_mirror)
  [ -n "$mirror" ] || die "apt on this machine names no Debian mirror, so there is nothing to make the environment from"
  need_space
  say "making the build environment, once for all checkouts: Debian $forky in $root"
  say "one to three minutes, 0.6 GB to download, 2 GB on disk; the log is $cache/roots/log"
  trap 'interrupted=yes' INT HUP TERM
  mkdir "$new" "$new.work"
  TMPDIR=$new.work start_mmdebstrap "$new" "$mirror" "$@"
  wait "$maker" || status=$?
  if [ -n "$interrupted" ]; then give_up "$new" 130; fi
  if [ "$status" != 0 ] || [ ! -x "$new/usr/bin/bazel" ]; then give_up "$new" 1; fi
  packages_of "$@" >"$new/.rlxgpu-packages" &&
    sha256sum <"$new/var/lib/dpkg/status" | cut -c1-12 >"$new/.rlxgpu-root.tmp" &&
    mv "$new/.rlxgpu-root.tmp" "$new/.rlxgpu-root" && mv -T "$new" "$root" || give_up "$new" 1
  remove_tree "$new.work"
  trap - INT HUP TERM
  say "the environment is ready after $((SECONDS - started)) s"
}

# Starts what fills a folder with a root. Its process is $maker; killing that ends everything under it.
start_mmdebstrap() {  # FOLDER MIRROR LIST...
  local folder=$1 mirror=$2
  shift 2
  local swiftshader="install -m 755 '$environment/swiftshader.sh' \"\$1/tmp/\" &&
    chroot \"\$1\" /tmp/swiftshader.sh /opt/swiftshader && rm \"\$1/tmp/swiftshader.sh\""
  setpriv --pdeathsig KILL unshare $namespaces --pid --fork --kill-child --mount-proc \
    mmdebstrap --mode=root --variant=apt --skip=output/dev \
    --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Retries "3"' \
    --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/locale/*' \
    --include="$(packages_of "$@" | paste -sd,)" --customize-hook="$swiftshader" \
    --customize-hook='mkdir -p "$1/dev" "$1/proc" "$1/sys" && sed -i /host_javabase/d "$1/etc/bazel/bazelrc"' \
    --customize-hook='find "$1" -xdev "(" ! -user 0 -o ! -group 0 ")" -exec chown -h 0:0 {} +' \
    "$forky" "$folder" "$mirror" </dev/null > >(show_progress) 2>&1 8>&- &
  maker=$!
}

# mmdebstrap's log goes to a file; its stages to the terminal, each with the seconds since the start.
show_progress() {
  local began=$SECONDS line
  trap '' INT
  : >"$cache/roots/log"
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$cache/roots/log" || true
    case $line in
      I:*"apt-get update"*) say "  $((SECONDS - began)) s: reading the package lists" ;;
      I:*"downloading packages"*) say "  $((SECONDS - began)) s: downloading the base system" ;;
      I:*"installing remaining"*) say "  $((SECONDS - began)) s: downloading and installing the packages" ;;
      I:*swiftshader*) say "  $((SECONDS - began)) s: taking SwiftShader out of chromium's package" ;;
    esac
  done
}

give_up() {  # FOLDER STATUS
  trap '' INT HUP TERM
  kill -KILL "$maker" 2>/dev/null && wait "$maker" 2>/dev/null || true
  sleep 0.2  # the last lines of the log
  remove_tree "$1"
  remove_tree "$1.work"
  if [ "$2" = 130 ]; then
    say "interrupted; nothing half-made is left"
  else
    say "the environment could not be made: $(why_failed); nothing half-made is left, the log is $cache/roots/log"
  fi
  exit "$2"
}

# One sentence for the usual causes, else the log's last complaint.
why_failed() {
  local log=$cache/roots/log
  if [ ! -s "$log" ] || grep -qiE 'no space left|not enough free space' "$log"; then
    echo "the disk is full"
  elif grep -qiE 'could not resolve|temporary failure|could not connect|connection (refused|timed out|failed)|network is unreachable|unable to connect' "$log"; then
    echo "the Debian mirror cannot be reached, is the network up?"
  elif grep -qiE 'permission denied|operation not permitted|subuid|newuidmap' "$log"; then
    echo "no permission ($(grep -iE -m1 'permission denied|operation not permitted|subuid|newuidmap' "$log"))"
  else
    grep -E '^(E:|dpkg: error|unshare:|tar:)|rror:' "$log" | head -n 1 | grep . || tail -n 1 "$log"
  fi
}

# The address from which the host takes Debian itself: apt knows every syntax of its own configuration.
host_mirror() {
  local codename
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  apt-get --print-uris update 2>/dev/null |
    sed -nE "s#^'([a-z+]+:.*[^/])/*/dists/${codename:-none}/(InRelease|Release).*#\1#p" | head -n 1
}

# The tools on the host that make a root. Only here is something installed on the host, and only by root.
install_host_tools() {
  local missing=()
  command -v apt-get >/dev/null ||
    die "this is not a Debian system: run ./dev in a container of Debian $forky, or use Bazel with a Dawn of your own (see README.md)"
  command -v mmdebstrap >/dev/null || missing+=(mmdebstrap)
  [ "$(id -u)" = 0 ] || command -v newuidmap >/dev/null || missing+=(uidmap)
  [ ${#missing[@]} != 0 ] || return 0
  [ "$(id -u)" = 0 ] || die "the environment is made with ${missing[*]}, not installed here: run \`sudo apt-get install ${missing[*]}\` once"
  say "installing ${missing[*]} on this machine with apt"
  install_packages "${missing[@]}"
}

install_packages() {  # PACKAGE...
  { apt-get -q -o Acquire::Check-Valid-Until=false update && apt-get -q install -y --no-install-recommends "$@"; } \
    </dev/null >"$cache/roots/log" 2>&1 || die "apt could not install $*: $(why_failed); the log is $cache/roots/log"
}

need_space() {
  local free
  free=$(df -Pm "$cache" | awk 'NR == 2 {print $4}')
  [ "$free" -ge "$root_megabytes" ] ||
    die "the disk is too full: the environment needs $root_megabytes MB in $cache and $free MB are free; XDG_CACHE_HOME can name another disk"
}

# What killed builds left, and what no checkout has used for two months. With the lock held no such name is in use.
remove_leftovers() {
  local old
  for old in "$cache"/roots/*.tmp.*; do
    [ -e "$old" ] || continue
    say "removing what an interrupted build left"
    remove_tree "$old"
  done
  find "$cache"/roots -mindepth 2 -maxdepth 2 -name .rlxgpu-root -mtime +60 2>/dev/null |
    while IFS= read -r old; do remove_tree "${old%/.rlxgpu-root}"; done
  find "$cache"/build -mindepth 1 -maxdepth 1 -mtime +60 2>/dev/null |
    while IFS= read -r old; do remove_tree "$old"; done
}

# Never through a mount: what is mounted lives in namespaces that rm is not in, and rm stays on one file system anyway.
remove_tree() {
  if grep -qF " $1/" /proc/self/mountinfo; then
    say "not removing $1: something is mounted in it"
  elif [ -e "$1" ]; then
    unshare $namespaces rm -rf --one-file-system "$1" 2>/dev/null || rm -rf --one-file-system "$1"
  fi
}
