#!/bin/sh
# Unpacks SwiftShader, the Vulkan driver inside Debian's chromium-common package, without the browser.
#
#   swiftshader.sh FOLDER      # leaves FOLDER/vk_swiftshader_icd.json and FOLDER/libvk_swiftshader.so
#
# Needs apt-get with fresh lists and dpkg-deb; no root. FOLDER appears whole or not at all.
set -eu
folder=$1
work=$folder.tmp.$$
trap 'rm -rf "$work"' EXIT
rm -rf "$work"
mkdir -p "$work"
chmod 755 "$work"
cd "$work"
apt-get -q -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false download chromium-common
dpkg-deb --fsys-tarfile chromium-common_*.deb |
  tar -x --strip-components=4 --wildcards '*/libvk_swiftshader.so' '*/vk_swiftshader_icd.json'
rm chromium-common_*.deb
sed -i "s|\"library_path\": *\"[^\"]*\"|\"library_path\": \"$folder/libvk_swiftshader.so\"|" vk_swiftshader_icd.json
test -s libvk_swiftshader.so
mkdir -p "$(dirname "$folder")"
rm -rf "$folder"
mv "$work" "$folder"
