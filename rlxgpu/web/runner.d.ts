// Types of runner.js. Numbers are in bytes where a name says so.

export interface Needs {
  features: string[];
  storage_buffers: number;
  invocations: number;
  workgroup_bytes: number;
  groups: number;
  immediate_bytes: number;
  offset_alignment: number;
  binding_bytes: number;
  buffer_bytes: number;
  subgroup_sizes?: [number, number];
}

export interface ModelPort {
  name: string;
  type: string;
  shape: number[];
  tensor: string;
  bound: boolean;
  count?: { tensor: string; axis: number };
}

export interface Manifest {
  rlxgpu_bundle: 1;
  programs: { name: string; file: string; once: boolean; needs: Needs }[];
  files: Record<string, { bytes: number; sha256: string }>;
  inputs?: ModelPort[];
  outputs?: ModelPort[];
}

export interface Bundle {
  manifest: Manifest;
  files: Record<string, Uint8Array | undefined>;
}

export type Elements = Float32Array | Int32Array | Uint32Array | Uint16Array | Int8Array | Uint8Array;

export interface Progress {
  loaded: number;
  total: number;
}

export interface SessionOptions {
  device?: GPUDevice;
  /** Shared with other sessions of the same device; this session's own unless given. */
  weights?: Store;
  states?: Store;
  /** false: scalars in a uniform buffer, also where the browser has immediates. */
  immediates?: boolean;
}

/** What an adapter or device lacks, as text; '' when nothing. */
export function missing(needs: Needs, of: { features: ReadonlySet<string>; limits: GPUSupportedLimits }): string;
export function openDevice(needs?: Needs[]): Promise<GPUDevice>;
export function parseSafetensors(bytes: Uint8Array): Map<string, { dtype: string; shape: number[]; bytes: Uint8Array }>;
/** The files of a bundle, each checked against the manifest. The address ends with a slash. */
export function fetchBundle(url: string | URL, options?: { onProgress?: (progress: Progress) => void }): Promise<Bundle>;
export function load(bundle: string | URL | Bundle, options?: SessionOptions & { onProgress?: (progress: Progress) => void }): Promise<Session>;

/** Tensors by name that sessions share. */
export class Store {
  constructor(device: GPUDevice);
  destroy(): void;
}

export class Session {
  static create(program: object, options?: SessionOptions & { constants?: Uint8Array; needs?: Needs }): Promise<Session>;
  readonly device: GPUDevice;
  /** Of a session that load() made. */
  readonly manifest?: Manifest;
  /** At the present run-time extents. */
  shape(name: string): number[];
  /** Elements of an input, weight or state in its storage type, or the number of a scalar or run-time extent. */
  set(name: string, value: Elements | ArrayBuffer | number): void;
  /** Submits one run at once; the promise has what was asked for. Without `read` nothing is waited for but errors. */
  run(options?: { read?: string[] }): Promise<Record<string, Elements>>;
  /** Frees this session's buffers; not the weights and states. */
  destroy(): void;
}
