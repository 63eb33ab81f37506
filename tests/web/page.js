// Runs the bundles of golden.cc in this browser and reports to browser_test.py. One line for each case.
import { Session, Store, fetchBundle, load, openDevice, parseSafetensors } from '/rlxgpu/web/runner.js';

const bytes = async (url) => new Uint8Array(await (await fetch(url)).arrayBuffer());
const expect = (condition, text) => { if (!condition) throw new Error(text); };
async function refused(action, part) {
  try { await action(); } catch (error) { return expect(error.message.includes(part), `"${error.message}" does not say "${part}"`); }
  throw new Error(`no error that says "${part}"`);
}

// Two runs, as golden.cc did them; the results of the second.
async function play(session, manifest, data, inFlight = false) {
  let last;
  for (const [i, numbers] of manifest.runs.entries()) {
    for (const [name, value] of Object.entries(numbers)) session.set(name, value);
    for (const [name, tensor] of data) if (name.startsWith(`run${i}/`)) session.set(name.slice(5), tensor.bytes);
    const read = [...data.keys()].filter((name) => name.startsWith('result/')).map((name) => name.slice(7));
    last = session.run({ read });
    if (!inFlight) await last;
  }
  return last;
}

// Two sums of k terms, each rounded, differ by at most 2 * k * 2^-24 of the sum of magnitudes; that is taken to be the greatest result.
function compare(results, data, longest) {
  let worst = 0;
  for (const [name, tensor] of data) {
    if (!name.startsWith('result/')) continue;
    const got = results[name.slice(7)], copy = tensor.bytes.slice();
    const want = tensor.dtype === 'F32' ? new Float32Array(copy.buffer) : new Int32Array(copy.buffer);
    expect(got.length === want.length, `${name}: ${got.length} elements, not ${want.length}`);
    const greatest = want.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    expect(greatest > 0, `${name}: all results are 0`);
    const allowed = tensor.dtype === 'F32' ? longest * 2 ** -23 * greatest : 0;
    want.forEach((value, i) => {
      const difference = Math.abs(got[i] - value);
      expect(difference <= allowed, `${name}[${i}] is ${got[i]}, natively ${value}; ${allowed} allowed`);
      worst = Math.max(worst, difference / greatest);
    });
  }
  return worst;
}

const tests = {};
for (const name of await (await fetch('/bundles/cases.json')).json()) {
  const kinds = [['', {}]];  // the others only where kernels are few: browsers compile them each time
  if (['extents', 'llama-token'].includes(name)) kinds.push([', scalars in a uniform buffer', { immediates: false }]);
  if (name === 'extents') kinds.push([', runs in flight', { inFlight: true }]);
  for (const [kind, options] of kinds) {
    tests[name + kind] = async () => {
      const data = parseSafetensors(await bytes(`/bundles/${name}/case.safetensors`));
      const session = await load(`/bundles/${name}/`, options);
      const worst = compare(await play(session, session.manifest, data, options.inFlight), data, session.manifest.longest);
      session.destroy();
      session.device.destroy();
      return `differs by ${worst.toExponential(1)} of the greatest`;
    };
  }
}
tests['a damaged file is refused by name'] = () => refused(() => load('/damaged/mlp/'), 'main.json: damaged');
tests['a missing file is refused by name'] = () => refused(() => load('/bundles/nothing/'), 'manifest.json: the server says 404');
tests['a wrong use is an error with the name'] = async () => {
  const bundle = await fetchBundle('/bundles/mlp/');
  const session = await load({ manifest: bundle.manifest, files: { ...bundle.files, 'weights.safetensors': undefined } });
  await refused(() => session.run(), 'was never set');
  await refused(() => session.set('nope', 1), 'there is no tensor "nope"');
  await refused(() => session.set('x', new Float32Array(1)), '4 given');
};
tests['a kernel that is wrong is an error with its label'] = async () => {
  const { manifest, files } = await fetchBundle('/bundles/mlp/');
  const program = JSON.parse(new TextDecoder().decode(files['main.json']));
  program.kernels[0].wgsl += '\nfn broken() -> f32 { return 1u; }';
  await refused(() => Session.create(program, { constants: files['constants.bin'], needs: manifest.programs[0].needs }), program.steps[0].label);
};
tests['sessions share weights'] = async () => {
  const data = parseSafetensors(await bytes('/bundles/mlp/case.safetensors')), bundle = await fetchBundle('/bundles/mlp/');
  const device = await openDevice([bundle.manifest.programs[0].needs]), weights = new Store(device);
  await load(bundle, { device, weights });
  const second = await load({ manifest: bundle.manifest, files: { ...bundle.files, 'weights.safetensors': undefined } }, { device, weights });
  compare(await play(second, bundle.manifest, data), data, bundle.manifest.longest);
};
tests['a lost device is an error'] = async () => {
  const session = await load('/bundles/mlp/');
  session.device.destroy();
  await session.device.lost;
  await refused(() => session.run(), 'the device was lost');
};

const report = (line) => fetch('/report', { method: 'POST', body: line });
for (const [name, test] of Object.entries(tests)) {
  const start = performance.now();
  try {
    const note = await test();
    await report(`ok ${name}${note ? `: ${note}` : ''} (${Math.round(performance.now() - start)} ms)`);
  } catch (error) {
    await report(`not ok ${name}: ${error.message}`);
  }
}
await report('done');
