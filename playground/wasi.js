// @ts-check
// The system that the command finds in a browser: arguments, clocks and files in memory (WASI preview 1). Nothing here leads out of the page.
"use strict";
/* eslint max-lines-per-function: off, max-params: off -- the calls of WASI, with its parameters */

/** A file in memory, which grows by doubling. */
class MemoryFile {
  /** @param {Uint8Array} [bytes] */
  constructor(bytes = new Uint8Array(0)) {
    this.data = bytes;
    this.size = bytes.length;
    this.ino = MemoryFile.next++;
  }
  bytes() {
    return this.data.subarray(0, this.size);
  }
  /** @param {number} size */
  resize(size) {
    if (size > this.data.length) {
      const data = new Uint8Array(Math.max(size, 2 * this.data.length));
      data.set(this.bytes());
      this.data = data;
    } else if (size < this.size) this.data = this.data.slice(0, size);
    this.size = size;
  }
  /** @param {Uint8Array} bytes @param {number} at */
  write(bytes, at) {
    if (at + bytes.length > this.size) this.resize(at + bytes.length);
    this.data.set(bytes, at);
  }
}
MemoryFile.next = 1;

/** A folder in memory: its entries in the order of their names. */
class MemoryFolder {
  constructor() {
    /** @type {Map<string, MemoryFile | MemoryFolder>} */
    this.entries = new Map();
    this.ino = MemoryFile.next++;
  }
  /** The entry at a path; a missing part gives undefined. @param {string} path @returns {MemoryFile | MemoryFolder | undefined} */
  at(path) {
    /** @type {MemoryFile | MemoryFolder | undefined} */
    let here = this;
    for (const part of MemoryFolder.parts(path)) here = here instanceof MemoryFolder ? here.entries.get(part) : undefined;
    return here;
  }
  /** The folder around a path, and the last name. @param {string} path @returns {[MemoryFile | MemoryFolder | undefined, string]} */
  around(path) {
    const parts = MemoryFolder.parts(path);
    const name = parts.pop() ?? "";
    return [this.at(parts.join("/")), name];
  }
  /** Puts a file in place, with the folders around it. @param {string} path @param {Uint8Array} bytes */
  put(path, bytes) {
    const parts = MemoryFolder.parts(path);
    const name = /** @type {string} */ (parts.pop());
    /** @type {MemoryFolder} */
    let here = this;
    for (const part of parts) {
      let next = here.entries.get(part);
      if (!(next instanceof MemoryFolder)) here.entries.set(part, (next = new MemoryFolder()));
      here = next;
    }
    here.entries.set(name, new MemoryFile(bytes));
  }
  /** Every file with its path. @param {string} [prefix] @returns {[string, Uint8Array][]} */
  files(prefix = "") {
    return [...this.entries].flatMap(([name, entry]) =>
      entry instanceof MemoryFolder ? entry.files(`${prefix}${name}/`) : [/** @type {[string, Uint8Array]} */ ([prefix + name, entry.bytes()])]);
  }
  /** Parts of a path without `.` and `..`. @param {string} path */
  static parts(path) {
    /** @type {string[]} */
    const parts = [];
    for (const part of path.split("/")) {
      if (part === "..") parts.pop();
      else if (part !== "" && part !== ".") parts.push(part);
    }
    return parts;
  }
}

const E = { badf: 8, exist: 20, inval: 28, isdir: 31, noent: 44, nosys: 52, notdir: 54, notempty: 55 };

/** Thrown when the program ends. */
class Exited extends Error {
  /** @param {number} code */
  constructor(code) {
    super(`exit ${code}`);
    this.code = code;
  }
}

/**
 * Runs the command in a new memory. Returns its exit code, its output and the files that it left.
 * @param {WebAssembly.Module} module
 * @param {{ args: string[], env?: Record<string, string>, root: MemoryFolder, line?: (text: string, memory: number) => void }} given `line` gets each line of stderr as it is written, and the memory in use [bytes]
 */
const runCommand = (module, { args, env = {}, root, line = () => {} }) => {
  /** @type {WebAssembly.Memory} */
  let memory; // eslint-disable-line prefer-const -- the calls above its instance use it
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const view = () => new DataView(memory.buffer);
  /** @param {number} at @param {number} length */
  const bytes = (at, length) => new Uint8Array(memory.buffer, at, length);
  /** @param {number} at @param {number} length */
  const text = (at, length) => decoder.decode(bytes(at, length));
  const words = { args: args.map((a) => encoder.encode(`${a}\0`)), env: Object.entries(env).map(([k, v]) => encoder.encode(`${k}=${v}\0`)) };
  const stdout = new MemoryFile();
  let stderr = "";
  let waiting = "";
  const errors = new TextDecoder();
  /** @param {Uint8Array} written */
  const complain = (written) => {
    waiting += errors.decode(written.slice(), { stream: true });
    const lines = waiting.split("\n");
    waiting = /** @type {string} */ (lines.pop());
    for (const l of lines) {
      if (!l.startsWith("\r")) stderr += `${l}\n`;
      line(l, memory.buffer.byteLength);
    }
  };
  /** @typedef {{ entry: MemoryFile | MemoryFolder | null, at: number, append: boolean }} Open */
  /** @type {(Open | undefined)[]} */
  const open = [
    { entry: new MemoryFile(), at: 0, append: false }, { entry: stdout, at: 0, append: true }, { entry: null, at: 0, append: true },
    { entry: root, at: 0, append: false },
  ];
  /** @param {Uint8Array[]} list @param {number} pointers @param {number} buffer */
  const putWords = (list, pointers, buffer) => {
    const v = view();
    list.forEach((word, i) => {
      v.setUint32(pointers + 4 * i, buffer, true);
      bytes(buffer, word.length).set(word);
      buffer += word.length;
    });
    return 0;
  };
  /** @param {Uint8Array[]} list @param {number} count @param {number} size */
  const putSizes = (list, count, size) => {
    view().setUint32(count, list.length, true);
    view().setUint32(size, list.reduce((n, w) => n + w.length, 0), true);
    return 0;
  };
  /** @param {MemoryFile | MemoryFolder | null} entry */
  const kind = (entry) => (entry instanceof MemoryFolder ? 3 : 4);
  /** @param {MemoryFile | MemoryFolder | null} entry @param {number} to */
  const putStat = (entry, to) => {
    const v = view();
    bytes(to, 64).fill(0);
    v.setBigUint64(to + 8, BigInt(entry?.ino ?? 0), true);
    v.setUint8(to + 16, kind(entry));
    v.setBigUint64(to + 24, 1n, true);
    v.setBigUint64(to + 32, BigInt(entry instanceof MemoryFile ? entry.size : 0), true);
    return 0;
  };
  /** @param {number} at @param {number} count */
  const vectors = (at, count) => {
    const v = view();
    return Array.from({ length: count }, (_, i) => bytes(v.getUint32(at + 8 * i, true), v.getUint32(at + 8 * i + 4, true)));
  };
  /** The folder of a descriptor, below which a path is looked up. @param {number} fd */
  const folder = (fd) => {
    const entry = open[fd]?.entry;
    return entry instanceof MemoryFolder ? entry : new MemoryFolder();
  };
  /** @param {number} fd @param {number} list @param {number} count @param {number} position @param {number} done */
  const read = (fd, list, count, position, done) => {
    const file = open[fd]?.entry;
    if (!(file instanceof MemoryFile)) return file ? E.isdir : E.badf;
    let n = 0;
    for (const to of vectors(list, count)) {
      const part = file.data.subarray(position + n, Math.min(position + n + to.length, file.size));
      to.set(part);
      n += part.length;
    }
    view().setUint32(done, n, true);
    return n;
  };
  const now = () => BigInt(Math.round(performance.now() * 1e6));
  /** @type {Record<string, (...given: any[]) => number>} */
  const system = {
    args_sizes_get: (count, size) => putSizes(words.args, count, size),
    args_get: (pointers, buffer) => putWords(words.args, pointers, buffer),
    environ_sizes_get: (count, size) => putSizes(words.env, count, size),
    environ_get: (pointers, buffer) => putWords(words.env, pointers, buffer),
    clock_time_get: (id, _, to) => {
      view().setBigUint64(to, id === 0 ? BigInt(Date.now()) * 1000000n : now(), true);
      return 0;
    },
    clock_res_get: (_, to) => {
      view().setBigUint64(to, 1000n, true);
      return 0;
    },
    random_get: (at, length) => {
      for (let i = 0; i < length; i += 65536) crypto.getRandomValues(bytes(at + i, Math.min(65536, length - i)));
      return 0;
    },
    sched_yield: () => 0,
    // Nothing else runs here: a time to wait is over at once.
    poll_oneoff: (from, to, count, done) => {
      for (let i = 0; i < count; i++) {
        bytes(to + 32 * i, 32).fill(0);
        bytes(to + 32 * i, 8).set(bytes(from + 48 * i, 8));
      }
      view().setUint32(done, count, true);
      return 0;
    },
    proc_exit: (code) => {
      throw new Exited(code);
    },
    fd_prestat_get: (fd, to) => {
      if (fd !== 3) return E.badf;
      view().setUint32(to, 0, true);
      view().setUint32(to + 4, 1, true);
      return 0;
    },
    fd_prestat_dir_name: (fd, to) => {
      if (fd !== 3) return E.badf;
      view().setUint8(to, 47); // the root
      return 0;
    },
    fd_close: (fd) => {
      if (!open[fd]) return E.badf;
      open[fd] = undefined;
      return 0;
    },
    fd_sync: () => 0,
    fd_datasync: () => 0,
    fd_advise: () => 0,
    fd_allocate: () => 0,
    fd_fdstat_set_flags: () => 0,
    fd_filestat_set_times: () => 0,
    path_filestat_set_times: () => 0,
    fd_fdstat_get: (fd, to) => {
      const it = open[fd];
      if (!it) return E.badf;
      bytes(to, 24).fill(0);
      view().setUint8(to, kind(it.entry));
      view().setUint16(to + 2, it.append ? 1 : 0, true);
      bytes(to + 8, 16).fill(255);
      return 0;
    },
    fd_filestat_get: (fd, to) => (open[fd] ? putStat(/** @type {Open} */ (open[fd]).entry, to) : E.badf),
    fd_filestat_set_size: (fd, size) => {
      const file = open[fd]?.entry;
      if (!(file instanceof MemoryFile)) return E.badf;
      file.resize(Number(size));
      return 0;
    },
    fd_read: (fd, list, count, done) => {
      const it = open[fd];
      if (!(it?.entry instanceof MemoryFile)) return it ? E.isdir : E.badf;
      it.at += read(fd, list, count, it.at, done);
      return 0;
    },
    fd_pread: (fd, list, count, position, done) => {
      if (!(open[fd]?.entry instanceof MemoryFile)) return E.badf;
      read(fd, list, count, Number(position), done);
      return 0;
    },
    fd_write: (fd, list, count, done) => {
      const it = open[fd];
      if (!it || it.entry instanceof MemoryFolder) return E.badf;
      let n = 0;
      for (const from of vectors(list, count)) {
        if (it.entry === null) complain(from);
        else {
          if (it.append) it.at = it.entry.size;
          it.entry.write(from, it.at);
          it.at += from.length;
        }
        n += from.length;
      }
      view().setUint32(done, n, true);
      return 0;
    },
    fd_pwrite: (fd, list, count, position, done) => {
      const file = open[fd]?.entry;
      if (!(file instanceof MemoryFile)) return E.badf;
      let at = Number(position);
      for (const from of vectors(list, count)) {
        file.write(from, at);
        at += from.length;
      }
      view().setUint32(done, at - Number(position), true);
      return 0;
    },
    fd_seek: (fd, offset, whence, to) => {
      const it = open[fd];
      if (!(it?.entry instanceof MemoryFile)) return E.badf;
      const at = [0, it.at, it.entry.size][whence] + Number(offset);
      if (at < 0) return E.inval;
      it.at = at;
      view().setBigUint64(to, BigInt(at), true);
      return 0;
    },
    fd_tell: (fd, to) => {
      view().setBigUint64(to, BigInt(open[fd]?.at ?? 0), true);
      return open[fd] ? 0 : E.badf;
    },
    fd_readdir: (fd, to, length, cookie, done) => {
      const entry = open[fd]?.entry;
      if (!(entry instanceof MemoryFolder)) return E.notdir;
      const names = [...entry.entries.keys()].sort();
      let used = 0;
      for (let i = Number(cookie); i < names.length && used < length; i++) {
        const name = encoder.encode(names[i]);
        const item = new Uint8Array(24 + name.length);
        const v = new DataView(item.buffer);
        const there = /** @type {MemoryFile | MemoryFolder} */ (entry.entries.get(names[i]));
        v.setBigUint64(0, BigInt(i + 1), true);
        v.setBigUint64(8, BigInt(there.ino), true);
        v.setUint32(16, name.length, true);
        v.setUint8(20, kind(there));
        item.set(name, 24);
        const part = item.subarray(0, length - used);
        bytes(to + used, part.length).set(part);
        used += part.length;
      }
      view().setUint32(done, used, true);
      return 0;
    },
    path_open: (fd, _, path, length, flags, _rights, _inheriting, fdflags, to) => {
      const name = text(path, length);
      const [parent, last] = folder(fd).around(name);
      let entry = folder(fd).at(name);
      if (!entry) {
        if (!(flags & 1)) return E.noent;
        if (!(parent instanceof MemoryFolder)) return parent ? E.notdir : E.noent;
        entry = new MemoryFile();
        parent.entries.set(last, entry);
      } else if (flags & 4) return E.exist;
      if (flags & 2 && !(entry instanceof MemoryFolder)) return E.notdir;
      if (flags & 8) {
        if (!(entry instanceof MemoryFile)) return E.isdir;
        entry.resize(0);
      }
      let free = open.indexOf(undefined);
      if (free < 0) free = open.length;
      open[free] = { entry, at: 0, append: (fdflags & 1) === 1 };
      view().setUint32(to, free, true);
      return 0;
    },
    path_filestat_get: (fd, _, path, length, to) => {
      const entry = folder(fd).at(text(path, length));
      return entry ? putStat(entry, to) : E.noent;
    },
    path_create_directory: (fd, path, length) => {
      const [parent, name] = folder(fd).around(text(path, length));
      if (!(parent instanceof MemoryFolder)) return parent ? E.notdir : E.noent;
      if (parent.entries.has(name) || name === "") return E.exist;
      parent.entries.set(name, new MemoryFolder());
      return 0;
    },
    path_unlink_file: (fd, path, length) => {
      const [parent, name] = folder(fd).around(text(path, length));
      if (!(parent instanceof MemoryFolder) || !parent.entries.has(name)) return E.noent;
      if (parent.entries.get(name) instanceof MemoryFolder) return E.isdir;
      parent.entries.delete(name);
      return 0;
    },
    path_remove_directory: (fd, path, length) => {
      const [parent, name] = folder(fd).around(text(path, length));
      const entry = parent instanceof MemoryFolder ? parent.entries.get(name) : undefined;
      if (!(entry instanceof MemoryFolder)) return entry ? E.notdir : E.noent;
      if (entry.entries.size) return E.notempty;
      /** @type {MemoryFolder} */ (parent).entries.delete(name);
      return 0;
    },
    path_rename: (from, path, length, into, other, otherLength) => {
      const [parent, name] = folder(from).around(text(path, length));
      const [target, last] = folder(into).around(text(other, otherLength));
      const entry = parent instanceof MemoryFolder ? parent.entries.get(name) : undefined;
      if (!entry || !(target instanceof MemoryFolder)) return E.noent;
      /** @type {MemoryFolder} */ (parent).entries.delete(name);
      target.entries.set(last, entry);
      return 0;
    },
    path_link: (from, _, path, length, into, other, otherLength) => {
      const entry = folder(from).at(text(path, length));
      const [target, last] = folder(into).around(text(other, otherLength));
      if (!entry || !(target instanceof MemoryFolder)) return E.noent;
      if (target.entries.has(last)) return E.exist;
      target.entries.set(last, entry);
      return 0;
    },
    path_readlink: (fd, path, length) => (folder(fd).at(text(path, length)) ? E.inval : E.noent),
    path_symlink: () => E.nosys,
  };
  const wanted = WebAssembly.Module.imports(module).filter((i) => i.module === "wasi_snapshot_preview1");
  const imports = Object.fromEntries(wanted.map(({ name }) => [name, system[name] ?? (() => E.nosys)]));
  const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: imports });
  memory = /** @type {WebAssembly.Memory} */ (instance.exports.memory);
  let exit = 0;
  try {
    /** @type {() => void} */ (instance.exports._start)();
  } catch (e) {
    if (!(e instanceof Exited)) throw Object.assign(/** @type {Error} */ (e), { stderr: stderr + waiting });
    exit = e.code;
  }
  if (waiting && !waiting.startsWith("\r")) stderr += waiting;
  return { exit, stdout: decoder.decode(stdout.bytes()), stderr, memory: memory.buffer.byteLength };
};

// For node, which runs the same file in tests.
if (typeof module === "object") module.exports = { MemoryFolder, runCommand };
