#!/bin/bash
# Runs a command inside a root, with the given folders and /tmp at their own paths. Started by dev in a mount namespace of
# its own, so that every mount made here ends with the last process in it.
#
#   unshare --mount enter_root.sh ROOT FOLDER... -- WORKING_FOLDER COMMAND...
set -eu
root=$1
shift
mount --bind "$root" "$root"
for folder in /dev /proc /sys; do mount --rbind "$folder" "$root$folder"; done
mount --bind /tmp "$root/tmp"
while [ "$1" != -- ]; do
  mkdir -p "$root$1"
  mount --bind "$1" "$root$1"
  shift
done
for file in /etc/resolv.conf /etc/hosts; do
  if [ -e "$file" ]; then
    [ -e "$root$file" ] || : >"$root$file"
    mount --bind "$(readlink -f "$file")" "$root$file"
  fi
done
# A Bazel server started here must show the same paths in /proc to clients in other such namespaces, which takes pivot_root;
# with chroot alone, on hosts that lack it, every call starts a server of its own.
PATH=/usr/bin:/usr/sbin:/bin:/sbin
if command -v pivot_root >/dev/null; then
  cd "$root"
  pivot_root . mnt
  cd /
  umount -l /mnt
  root=/
fi
exec chroot "$root" /bin/sh -c 'cd "$0" && exec "$@"' "${@:2}"
