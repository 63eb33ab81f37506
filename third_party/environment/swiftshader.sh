#!/bin/sh
# Unpacks SwiftShader, the Vulkan driver inside Debian's chromium-common package, without the browser.
#
#   swiftshader.sh FOLDER      # leaves FOLDER/vk_swiftshader_icd.json and FOLDER/libvk_swiftshader.so
#
# Needs apt-get and dpkg-deb, not root. FOLDER appears whole or not at all.
set -eu
folder=$1
work=$folder.tmp.$$
trap 'rm -rf "$work"' EXIT
rm -rf "$work"
mkdir -p "$work"
chmod 755 "$work"
cd "$work"
options="-q -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false"
if ! apt-get $options download chromium-common; then  # no package lists: fetch them for this once
  mkdir -p lists/partial cache/archives/partial
  options="$options -o Dir::State::Lists=$work/lists -o Dir::Cache=$work/cache"
  apt-get $options update
  apt-get $options download chromium-common
fi
dpkg-deb --fsys-tarfile chromium-common_*.deb |
  tar -x --strip-components=4 --wildcards '*/libvk_swiftshader.so' '*/vk_swiftshader_icd.json'
rm -rf chromium-common_*.deb lists cache
sed -i "s|\"library_path\": *\"[^\"]*\"|\"library_path\": \"$folder/libvk_swiftshader.so\"|" vk_swiftshader_icd.json
test -s libvk_swiftshader.so
mkdir -p "$(dirname "$folder")"
rm -rf "$folder"
mv "$work" "$folder"
