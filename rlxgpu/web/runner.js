// Runs programs of rlxgpu on the GPU of a browser, in a page or a worker. docs/program-format.md is the rule for what this
// does; runner.d.ts has the types, docs/browser.md the uses.
//
//   const session = await load('bundle/', { onProgress });
//   session.set('x', new Float32Array(64));
//   const { y } = await session.run({ read: ['y'] });

const ARRAYS = {
  f32: Float32Array, i32: Int32Array, u32: Uint32Array, i8: Int8Array, u8: Uint8Array, bool: Uint8Array,
  f16: Uint16Array, bf16: Uint16Array, c64: Float32Array,
};
const LIMITS = {  // what a program needs, and what WebGPU calls it
  storage_buffers: 'maxStorageBuffersPerShaderStage', invocations: 'maxComputeInvocationsPerWorkgroup',
  workgroup_bytes: 'maxComputeWorkgroupStorageSize', groups: 'maxComputeWorkgroupsPerDimension',
  binding_bytes: 'maxStorageBufferBindingSize', buffer_bytes: 'maxBufferSize',
};
const STORAGE = 0x80 | 8 | 4;  // storage, written and read by copies
const up = (n, to) => Math.ceil(n / to) * to;
const count = (shape) => shape.reduce((n, extent) => n * extent, 1);
const bytesOf = (dtype) => (dtype === 'c64' ? 8 : ARRAYS[dtype].BYTES_PER_ELEMENT);
const viewOf = (data) => new Uint8Array(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength);

// What an adapter or device lacks for needs, as text; '' when nothing.
export function missing(needs, { features, limits }) {
  const lacks = needs.features.filter((name) => !features.has(name));
  for (const [ours, theirs] of Object.entries(LIMITS))
    if (needs[ours] > limits[theirs]) lacks.push(`${theirs} of ${needs[ours]} (there are ${limits[theirs]})`);
  if (needs.offset_alignment < limits.minStorageBufferOffsetAlignment)
    lacks.push(`minStorageBufferOffsetAlignment of ${needs.offset_alignment} (it is ${limits.minStorageBufferOffsetAlignment})`);
  return lacks.join(', ');
}

export async function openDevice(needs = []) {
  if (!globalThis.navigator?.gpu) throw new Error('this browser has no WebGPU here: it needs a newer one, and a page from https or localhost');
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) throw new Error('this browser offers no GPU to pages');
  const requiredLimits = {}, features = new Set();
  for (const need of needs) {
    const lacks = missing(need, adapter);
    if (lacks) throw new Error(`the GPU lacks ${lacks}`);
    need.features.forEach((name) => features.add(name));
    for (const [ours, theirs] of Object.entries(LIMITS)) requiredLimits[theirs] = Math.max(requiredLimits[theirs] ?? 0, need[ours]);
  }
  if (adapter.limits.maxImmediateSize) requiredLimits.maxImmediateSize = adapter.limits.maxImmediateSize;
  // A limit below the default is the default; asking for less than that is allowed.
  return adapter.requestDevice({ requiredFeatures: [...features], requiredLimits });
}

// Tensors by name that programs share: weights, or states.
export class Store {
  constructor(device) { this.device = device; this.slots = new Map(); }
  reserve(name, dtype, shape, bytes) {
    const type = `${dtype} [${shape}]`;
    let slot = this.slots.get(name);
    if (slot && slot.type !== type) throw new Error(`"${name}" is ${type} here and ${slot.type} elsewhere`);
    if (!slot) {
      const size = up(Math.max(bytes, 16), 16);
      slot = { type, size, isSet: false, buffer: this.device.createBuffer({ label: name, size, usage: STORAGE }) };
      this.slots.set(name, slot);
    }
    return slot;
  }
  destroy() { for (const { buffer } of this.slots.values()) buffer.destroy(); this.slots.clear(); }
}

export function parseSafetensors(bytes) {
  const header = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const tensors = new Map();
  for (const [name, tensor] of Object.entries(JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + header)))))
    if (name !== '__metadata__') tensors.set(name, { ...tensor, bytes: bytes.subarray(8 + header + tensor.data_offsets[0], 8 + header + tensor.data_offsets[1]) });
  return tensors;
}

// The files of a bundle, checked. `url` ends with a slash.
export async function fetchBundle(url, { onProgress } = {}) {
  const get = async (name) => {
    const response = await fetch(new URL(name, new URL(url, globalThis.location?.href)));
    if (!response.ok) throw new Error(`${name}: the server says ${response.status}`);
    return response;
  };
  const manifest = await (await get('manifest.json')).json();
  if (manifest.rlxgpu_bundle !== 1) throw new Error(`manifest.json: version ${manifest.rlxgpu_bundle} is not 1`);
  const names = Object.keys(manifest.files), files = {};
  const total = names.reduce((n, name) => n + manifest.files[name].bytes, 0);
  let loaded = 0;
  await Promise.all(names.map(async (name) => {
    const { bytes: size, sha256 } = manifest.files[name], bytes = new Uint8Array(size);
    const reader = (await get(name)).body.getReader();
    let at = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (at + part.value.length > size) throw new Error(`${name}: more than its ${size} bytes`);
      bytes.set(part.value, at);
      at += part.value.length;
      onProgress?.({ loaded: loaded += part.value.length, total });
    }
    if (at !== size) throw new Error(`${name}: ${at} of its ${size} bytes`);
    const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    if ([...hash].map((byte) => byte.toString(16).padStart(2, '0')).join('') !== sha256) throw new Error(`${name}: damaged, its hash is not the manifest's`);
    files[name] = bytes;
  }));
  return { manifest, files };
}

// A bundle, from its address or as fetchBundle gave it, ready to run.
export async function load(bundle, options = {}) {
  if (typeof bundle === 'string' || bundle instanceof URL) bundle = await fetchBundle(bundle, options);
  const { manifest, files } = bundle;
  const device = options.device ?? await openDevice(manifest.programs.map(({ needs }) => needs));
  const given = { ...options, device, constants: files['constants.bin'], weights: options.weights ?? new Store(device) };
  const make = (entry) => Session.create(JSON.parse(new TextDecoder().decode(files[entry.file])), { ...given, needs: entry.needs });
  const session = await make(manifest.programs.find(({ once }) => !once));
  session.manifest = manifest;
  if (files['weights.safetensors']) {
    const tensors = parseSafetensors(files['weights.safetensors']), entry = manifest.programs.find(({ once }) => once);
    const fill = (target) => {
      for (const port of target.program.ports) if (port.role === 'param' && tensors.has(port.name)) target.set(port.name, tensors.get(port.name).bytes);
    };
    fill(session);
    if (entry) {
      const raw = new Store(device), prepare = await Session.create(JSON.parse(new TextDecoder().decode(files[entry.file])), { ...given, weights: raw, needs: entry.needs });
      fill(prepare);
      await prepare.run();
      prepare.copyOutputs(given.weights);
      await device.queue.onSubmittedWorkDone();
      prepare.destroy();
      raw.destroy();
    }
  }
  return session;
}

export class Session {
  static async create(program, { device, constants = new Uint8Array(), weights, states, needs, immediates } = {}) {
    const s = new Session(), { buffers, tensors, kernels, steps } = program;
    if (program.rlxgpu !== 1) throw new Error(`a program of version ${program.rlxgpu}, not 1`);
    device ??= await openDevice(needs ? [needs] : []);
    const lacks = needs ? missing(needs, device) : '';
    if (lacks) throw new Error(`the device lacks ${lacks}`);
    Object.assign(s, { device, program, weights: weights ?? new Store(device), states: states ?? new Store(device), own: [], lost: null });
    device.lost.then((info) => { s.lost = new Error(`the device was lost: ${info.message || info.reason}`); });
    s.immediates = immediates ?? (device.limits.maxImmediateSize > 0 && 'setImmediates' in GPUComputePassEncoder.prototype);
    s.scalars = program.scalars.map((scalar) => ({ ...scalar, value: scalar.most ?? 0, word: scalar.most ?? 0 }));
    s.ports = new Map(program.ports.map((port) => [port.name, { ...port, ...tensors[port.tensor] }]));
    device.pushErrorScope('out-of-memory');
    const portOf = new Map(program.ports.map((port) => [tensors[port.tensor].buffer, port]));
    s.buffers = buffers.map((decl, i) => {
      const port = portOf.get(i), store = { param: s.weights, state: s.states }[decl.role];
      if (store) return store.reserve(port.name, tensors[port.tensor].dtype, tensors[port.tensor].shape.map((d) => d.most ?? d), decl.bytes);
      const size = up(Math.max(decl.bytes, 16), 16);
      const buffer = s.made(device.createBuffer({ label: port?.name ?? `${decl.role} ${i}`, size, usage: STORAGE }));
      if (decl.role === 'constant') s.write(buffer, constants.subarray(decl.at, decl.at + decl.length));
      return { buffer, size };
    });
    const memory = await device.popErrorScope();
    if (memory) throw new Error(`not enough memory on the device: ${memory.message}`);

    const layouts = new Map();
    const uniform = device.createBindGroupLayout({ entries: [{ binding: 0, visibility: 4, buffer: { type: 'uniform', hasDynamicOffset: true } }] });
    const layoutOf = (kernel) => {
      const key = kernel.bindings.map(({ writes }) => (writes ? 'w' : 'r')).join('') + kernel.immediates.length;
      if (!layouts.has(key)) {
        const group = device.createBindGroupLayout({
          entries: kernel.bindings.map(({ writes }, binding) => ({ binding, visibility: 4, buffer: { type: writes ? 'storage' : 'read-only-storage' } })),
        });
        const some = kernel.immediates.length > 0, bindGroupLayouts = some && !s.immediates ? [group, uniform] : [group];
        layouts.set(key, { group, layout: device.createPipelineLayout({ bindGroupLayouts, ...(some && s.immediates ? { immediateSize: 4 * kernel.immediates.length } : {}) }) });
      }
      return layouts.get(key);
    };
    const declaration = s.immediates ? 'var<immediate> imm : Immediates;\n' : '@group(1) @binding(0) var<uniform> imm : Immediates;\n';
    const pipelines = await Promise.all(kernels.map(async (kernel, i) => {
      const label = steps.find((step) => step.kernel === i)?.label ?? `kernel ${i}`;
      const module = device.createShaderModule({ label, code: kernel.wgsl + (kernel.immediates.length ? '\n' + declaration : '') });
      try {
        return await device.createComputePipelineAsync({ label, layout: layoutOf(kernel).layout, compute: { module } });
      } catch (error) {
        const { messages } = await module.getCompilationInfo();
        throw new Error(`${label}: ${messages.find(({ type }) => type === 'error')?.message ?? error.message}`);
      }
    }));

    s.uniforms = [];
    s.steps = steps.map((step) => {
      const entries = step.bindings.map((index, binding) => {
        const { buffer, offset, bytes } = tensors[index], slot = s.buffers[buffer];
        const resource = bytes ? { buffer: slot.buffer, offset, size: Math.min(up(bytes, 16), slot.size - offset) }
          : { buffer: s.made(device.createBuffer({ size: 16, usage: STORAGE })) };
        return { binding, resource };
      });
      const uniformAt = step.immediates.length && !s.immediates ? 256 * (s.uniforms.push(step.immediates) - 1) : -1;
      return { ...step, pipeline: pipelines[step.kernel], uniformAt, group: device.createBindGroup({ label: step.label, layout: layoutOf(kernels[step.kernel]).group, entries }) };
    });
    if (s.uniforms.length) {
      s.uniformBuffer = s.made(device.createBuffer({ size: 256 * s.uniforms.length, usage: 0x40 | 8 }));
      s.uniformGroup = device.createBindGroup({ layout: uniform, entries: [{ binding: 0, resource: { buffer: s.uniformBuffer, size: 64 } }] });
    }
    return s;
  }

  made(buffer) { this.own.push(buffer); return buffer; }

  port(name) {
    const port = this.ports.get(name);
    if (!port) throw new Error(`there is no tensor "${name}"; there are ${[...this.ports.keys(), ...this.scalars.map((scalar) => scalar.name)].join(', ')}`);
    return port;
  }

  // The shape of a tensor at the present extents.
  shape(name) { return this.port(name).shape.map((extent) => (extent.most === undefined ? extent : this.scalars[extent.scalar].value)); }

  write(buffer, bytes) {
    const whole = bytes.length & ~3;
    if (whole) this.device.queue.writeBuffer(buffer, 0, bytes, 0, whole);
    if (whole < bytes.length) {
      const last = new Uint8Array(4);
      last.set(bytes.subarray(whole));
      this.device.queue.writeBuffer(buffer, whole, last);
    }
  }

  // Elements of an input, weight or state, in its storage type; or the number of a scalar or run-time extent.
  set(name, value) {
    const scalar = this.scalars.find((each) => each.name === name);
    if (scalar) return this.setScalar(scalar, value);
    const port = this.port(name), shape = this.shape(name), given = viewOf(value), size = count(shape) * bytesOf(port.dtype);
    if (port.role === 'output') throw new Error(`"${name}" is an output: it is not set`);
    if (given.length !== size) throw new RangeError(`"${name}" is ${port.dtype} [${shape}], ${size} bytes; ${given.length} given`);
    const slot = this.buffers[port.buffer], built = port.shape.map((extent) => extent.most ?? extent);
    let bytes = given;
    if (count(built) !== count(shape)) {
      bytes = new Uint8Array(count(built) * bytesOf(port.dtype));
      spread(shape, built, bytesOf(port.dtype), (dense, at, n) => bytes.set(given.subarray(dense, dense + n), at));
    }
    this.write(slot.buffer, bytes);
    slot.isSet = true;
  }

  setScalar(scalar, value) {
    const { name, dtype, most } = scalar;
    if (typeof value !== 'number') throw new TypeError(`"${name}" is a number`);
    if (most !== undefined && !(value >= 0 && value <= most)) throw new RangeError(`extent "${name}" is ${value}; it must lie in 0 to ${most}`);
    const [low, high] = dtype === 'i32' ? [-(2 ** 31), 2 ** 31 - 1] : [0, 2 ** 32 - 1];
    if (dtype !== 'f32' && !(value >= low && value <= high)) throw new RangeError(`scalar "${name}" is ${value}, outside ${dtype}`);
    scalar.value = dtype === 'f32' ? value : Math.trunc(value);
    scalar.word = dtype === 'f32' ? new Uint32Array(new Float32Array([value]).buffer)[0] : scalar.value >>> 0;
  }

  encode(encoder) {
    if (this.uniforms.length) {
      const words = new Uint32Array(64 * this.uniforms.length);
      this.uniforms.forEach((list, i) => list.forEach((scalar, k) => { words[64 * i + k] = this.scalars[scalar].word; }));
      this.device.queue.writeBuffer(this.uniformBuffer, 0, words);
    }
    const pass = encoder.beginComputePass();
    for (const { pipeline, group, grid, grid_scalar: by, immediates, uniformAt } of this.steps) {
      const scalar = by === undefined ? undefined : this.scalars[by];
      const x = scalar?.most > 0 ? Math.ceil(grid[0] * scalar.word / scalar.most) : grid[0];
      if (x === 0) continue;
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      if (uniformAt >= 0) pass.setBindGroup(1, this.uniformGroup, [uniformAt]);
      else if (immediates.length) pass.setImmediates(0, Uint32Array.from(immediates, (index) => this.scalars[index].word));
      pass.dispatchWorkgroups(x, grid[1], grid[2]);
    }
    pass.end();
  }

  // One run. It is submitted at once, so several may be in flight; what is read belongs to this run.
  async run({ read = [] } = {}) {
    if (this.lost) throw this.lost;
    const unset = this.program.ports.filter(({ role, name }) => role === 'param' && !this.weights.slots.get(name).isSet);
    if (unset.length) throw new Error(`param "${unset[0].name}" was never set${unset.length > 1 ? `, nor were ${unset.length - 1} others` : ''}`);
    const ports = read.map((name) => ({ name, ...this.port(name), present: this.shape(name) }));
    const { device } = this;
    device.pushErrorScope('validation');
    const encoder = device.createCommandEncoder();
    this.encode(encoder);
    for (const port of ports) {
      port.staging = device.createBuffer({ size: Math.max(up(port.bytes, 4), 4), usage: 1 | 8 });
      if (port.bytes) encoder.copyBufferToBuffer(this.buffers[port.buffer].buffer, 0, port.staging, 0, up(port.bytes, 4));
    }
    device.queue.submit([encoder.finish()]);
    const error = device.popErrorScope();
    const results = ports.map(({ staging }) => staging.mapAsync(1).catch((reason) => reason));
    const failure = await error;
    if (failure) throw new Error(failure.message);
    const out = {};
    for (const [i, { name, dtype, shape, present, staging }] of ports.entries()) {
      const refused = await results[i];
      if (refused) throw this.lost ?? refused;
      const built = shape.map((extent) => extent.most ?? extent), size = bytesOf(dtype), mapped = new Uint8Array(staging.getMappedRange());
      const dense = new Uint8Array(count(present) * size);
      spread(present, built, size, (to, from, n) => dense.set(mapped.subarray(from, from + n), to));
      out[name] = new ARRAYS[dtype](dense.buffer);
      staging.destroy();
    }
    return out;
  }

  // Hands what the last run computed over as weights of other programs.
  copyOutputs(weights) {
    const encoder = this.device.createCommandEncoder();
    for (const port of this.ports.values()) {
      const slot = port.role === 'output' ? weights.slots.get(port.name) : undefined;
      if (!slot) continue;
      if (port.bytes) encoder.copyBufferToBuffer(this.buffers[port.buffer].buffer, 0, slot.buffer, 0, up(port.bytes, 4));
      slot.isSet = true;
    }
    this.device.queue.submit([encoder.finish()]);
  }

  // Frees what is this session's own; weights and states are freed by their destroy().
  destroy() { for (const buffer of this.own) buffer.destroy(); this.own = []; }
}

// Calls move(dense, built, bytes) for every run of elements that lie together at the present and at the built extents.
function spread(present, built, size, move) {
  if (count(present) === 0) return;
  let axis = present.length;
  while (axis > 0 && present[axis - 1] === built[axis - 1]) --axis;
  const outer = Math.max(axis - 1, 0), run = count(present.slice(outer)) * size;
  for (let i = 0; i < count(present.slice(0, outer)); ++i) {
    let rest = i, offset = 0;
    for (let k = outer - 1; k >= 0; --k) {
      offset += (rest % present[k]) * count(built.slice(k + 1));
      rest = Math.floor(rest / present[k]);
    }
    move(i * run, offset * size, run);
  }
}
