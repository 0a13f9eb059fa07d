// What build.py puts into engine.js.
interface Engine {
  wasm: string;
  size: number;
  worker: string;
  frame: string;
  presets: { id: string; title: string; about: string; name: string; text: string; group?: string; settings?: string; beside?: string; sliders: any[] }[];
  keys: Record<string, Record<string, string>>;
}
declare const XOFF: Engine;
declare const module: any;
// What worker.js has before it.
declare const MemoryFolder: typeof import("./wasi.js").MemoryFolder;
declare const runCommand: typeof import("./wasi.js").runCommand;
declare const unlzma: typeof import("./lzma.js").unlzma;
