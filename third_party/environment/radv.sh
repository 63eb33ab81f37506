#!/bin/sh
# Unpacks Mesa's AMD driver of Debian trixie (25.0): the last that compiles for GPUs that are not there
# (RADV_FORCE_FAMILY). Forky's own has dropped that. Used by ./dev isa; nothing is installed.
#
#   radv.sh FOLDER      # leaves FOLDER/radeon_icd.json and FOLDER/lib/libvulkan_radeon.so with what it needs
#
# Needs apt-get, dpkg-deb and a mirror named in apt's own configuration, of which only the suite is changed; not root.
# FOLDER appears whole or not at all.
set -eu
folder=$1
work=$folder.tmp.$$
trap 'rm -rf "$work"' EXIT
rm -rf "$work"
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/lib"
chmod 755 "$work"
cd "$work"
options="-q -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false -o Dir::State::Lists=$work/lists -o Dir::Cache=$work/cache
  -o Dir::State::status=/dev/null -o Dir::Etc::SourceList=$work/sources.list -o Dir::Etc::SourceParts=/dev/null"
mirror=$(apt-get --print-uris update 2>/dev/null | sed -nE "s#^'([a-z+]+:.*[^/])/*/dists/[^/]*/(InRelease|Release)'.*#\1#p" | grep -v security | head -n 1)
[ -n "$mirror" ] || { echo "apt names no Debian mirror" >&2; exit 1; }
echo "deb $mirror trixie main" >sources.list
apt-get $options update
apt-get $options download mesa-vulkan-drivers libllvm19 libdrm-amdgpu1 libelf1t64 libxml2 libedit2 libz3-4 libicu76 libxcb-shm0 libx11-xcb1
for package in *.deb; do dpkg-deb --fsys-tarfile "$package" | tar -x --wildcards './usr/lib/*.so*' './usr/share/vulkan/icd.d/radeon*' 2>/dev/null || true; done
cp -a usr/lib/*-linux-*/*.so* lib/
cp usr/share/vulkan/icd.d/radeon_icd*.json radeon_icd.json
rm -rf ./*.deb lists cache usr sources.list
sed -i "s|\"library_path\": *\"[^\"]*\"|\"library_path\": \"$folder/lib/libvulkan_radeon.so\"|" radeon_icd.json
test -s lib/libvulkan_radeon.so
mkdir -p "$(dirname "$folder")"
rm -rf "$folder"
mv "$work" "$folder"
