#!/bin/sh
# Makes the shims with which Mesa's drivers open GPUs that are not there: Debian's, unpacked and not installed, and ours
# for Intel and for NVIDIA's PCI ids (shims/), for which Debian has none. Used by ./dev gpus.
#
#   gpus.sh FOLDER      # leaves FOLDER/libamdgpu_noop_drm_shim.so and the like, FOLDER/libintel.so, FOLDER/libpci_id.so
#
# Needs apt-get, dpkg-deb, a C compiler and a mirror named in apt's own configuration; not root. FOLDER appears whole or not at all.
set -eu
folder=$1
sources=$(cd "$(dirname "$0")/shims" && pwd)
work=$folder.tmp.$$
trap 'rm -rf "$work"' EXIT
rm -rf "$work"
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
chmod 755 "$work"
cd "$work"
options="-q -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false -o Dir::State::Lists=$work/lists -o Dir::Cache=$work/cache"
apt-get $options update
apt-get $options download mesa-drm-shim libdrm-dev
for package in *.deb; do dpkg-deb -x "$package" unpacked; done
find unpacked -name '*_drm_shim.so' -exec cp {} . \;
for shim in intel pci_id; do
  cc -std=gnu17 -O1 -Wall -shared -fPIC -Iunpacked/usr/include -Iunpacked/usr/include/libdrm -o "lib$shim.so" "$sources/$shim.c" -ldl
done
test -s libamdgpu_noop_drm_shim.so
rm -rf ./*.deb lists cache unpacked
mkdir -p "$(dirname "$folder")"
rm -rf "$folder"
mv "$work" "$folder"
