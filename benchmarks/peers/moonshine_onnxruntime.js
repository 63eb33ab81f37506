// The twin of transcribe_bench: Moonshine on a recording by ONNX Runtime, with one of its execution providers.
//
//   npm install --ignore-scripts onnxruntime-node@1.30                       (in a folder outside of this one)
//   node moonshine_onnxruntime.js webgpu MODELS/moonshine-tiny MODELS/recordings/*.wav
//
// MODELS is the folder of `./dev models`. Prints JSON, a line for each recording: the shortest of $RUNS runs (5 unless told) of
// the encoder and of all of it, in ms, after one that warms up, and the tokens. With `memory` before the provider: what GPU memory
// lavapipe has given out (KiB) after the encoder's session was made, and after two runs of it, as lavapipe_memory.py counts it.
const fs = require('fs');
const ort = require('onnxruntime-node');

const kStart = 1, kEnd = 2, kLayers = 6, kTokensPerSecond = 6;

function samplesOf(path) {  // 16-bit, one channel, 16 kHz
  const bytes = fs.readFileSync(path);
  for (let at = 12; at + 8 <= bytes.length;) {
    const size = bytes.readUInt32LE(at + 4);
    if (bytes.toString('latin1', at, at + 4) === 'data') {
      const samples = new Float32Array(Math.min(size, bytes.length - at - 8) >> 1);
      for (let i = 0; i < samples.length; ++i) samples[i] = bytes.readInt16LE(at + 8 + 2 * i) / 32768;
      return samples;
    }
    at += 8 + size + (size & 1);
  }
  throw new Error(`${path} has no samples`);
}

function caches(of) {
  const all = [];
  for (let layer = 0; layer < kLayers; ++layer) {
    for (const half of of) for (const part of ['key', 'value']) all.push(`${layer}.${half}.${part}`);
  }
  return all;
}

async function transcribe(encoder, decoder, samples) {
  const before = performance.now();
  const hidden = (await encoder.run({input_values: new ort.Tensor('float32', samples, [1, samples.length])})).last_hidden_state;
  const encoded = performance.now();
  const past = {}, tokens = [];
  for (const name of caches(['decoder', 'encoder'])) past[`past_key_values.${name}`] = new ort.Tensor('float32', [], [0, 8, 1, 36]);
  let token = kStart;
  for (let step = 0; step < Math.trunc(samples.length / 16000 * kTokensPerSecond); ++step) {
    const result = await decoder.run({
      input_ids: new ort.Tensor('int64', [BigInt(token)], [1, 1]),
      encoder_hidden_states: hidden,
      use_cache_branch: new ort.Tensor('bool', [step > 0], [1]),
      ...past,
    });
    const logits = result.logits.data;
    token = 0;
    for (let i = 1; i < logits.length; ++i) if (logits[i] > logits[token]) token = i;
    if (token === kEnd) break;
    tokens.push(token);
    for (const name of caches(step === 0 ? ['decoder', 'encoder'] : ['decoder'])) past[`past_key_values.${name}`] = result[`present.${name}`];
  }
  return {encoder_ms: encoded - before, total_ms: performance.now() - before, tokens};
}

function lavapipeKib() {
  let total = 0;
  for (const line of fs.readFileSync('/proc/self/maps', 'latin1').split('\n')) {
    const range = line.match(/^([0-9a-f]+)-([0-9a-f]+) .*memfd:allocation fd/);
    if (range) total += (parseInt(range[2], 16) - parseInt(range[1], 16)) / 1024;
  }
  return total;
}

async function memory([provider, model, recording]) {
  const encoder = await ort.InferenceSession.create(`${model}/encoder_model.onnx`, {executionProviders: [provider]});
  const loaded = lavapipeKib(), samples = samplesOf(recording);
  console.log('loaded');
  await new Promise((resolve) => setTimeout(resolve, 100));  // for lavapipe_memory.py to look
  for (let run = 0; run < 2; ++run) await encoder.run({input_values: new ort.Tensor('float32', samples, [1, samples.length])});
  console.log(JSON.stringify({provider, recording, loaded_kib: loaded, after_runs_kib: lavapipeKib()}));
}

async function main([provider, model, ...recordings]) {
  const options = {executionProviders: [provider]};
  const encoder = await ort.InferenceSession.create(`${model}/encoder_model.onnx`, options);
  const decoder = await ort.InferenceSession.create(`${model}/decoder_model_merged.onnx`, options);
  for (const recording of recordings) {
    const samples = samplesOf(recording);
    const {tokens} = await transcribe(encoder, decoder, samples);
    const best = {provider, recording, encoder_ms: Infinity, total_ms: Infinity, tokens};
    for (let run = 0; run < Number(process.env.RUNS || 5); ++run) {
      const times = await transcribe(encoder, decoder, samples);
      for (const key of ['encoder_ms', 'total_ms']) best[key] = Math.min(best[key], times[key]);
    }
    console.log(JSON.stringify(best));
  }
}
if (process.argv[2] === 'memory') memory(process.argv.slice(3));
else main(process.argv.slice(2));
