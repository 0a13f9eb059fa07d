// What build.py puts into engine.js.
interface Engine {
  wasm: string;
  size: number;
  worker: string;
  presets: { id: string; title: string; about: string; name: string; text: string; settings?: string; beside?: string; sliders: any[] }[];
  keys: Record<string, Record<string, string>>;
}
declare const XOFF: Engine;
declare const module: any;
