// require: files and folders of the application, JSON, packages in node_modules, and a few of Node's own modules.
(function (internal, module, host) {
  'use strict';
  const path = internal('node/path');
  const configuration = host.configuration();
  const cache = Object.create(null);
  const packages = new Map();
  const own = ['assert', 'buffer', 'crypto', 'events', 'fs', 'os', 'path', 'querystring', 'timers', 'url', 'util'];
  const extensions = ['', '.js', '.json', '.cjs'];

  class Module {
    constructor(filename, parent) {
      this.id = filename;
      this.filename = filename;
      this.path = path.dirname(filename);
      this.exports = {};
      this.loaded = false;
      this.parent = parent;
      this.children = [];
      this.paths = folders(this.path);
      this.require = requireFrom(this);
    }
  }

  // The folders in which packages are looked for, nearest first.
  function folders(folder) {
    const list = [];
    for (let here = folder; ; here = path.dirname(here)) {
      if (path.basename(here) !== 'node_modules') list.push(path.join(here, 'node_modules'));
      if (here === path.dirname(here)) break;
    }
    return list.concat(configuration.packageFolders);
  }

  function builtin(name) {
    const plain = name.replace(/^node:/, '');
    if (own.includes(plain)) {
      const exports = internal(`node/${plain}`);
      return () => exports;
    }
    if (plain === 'fs/promises') return () => internal('node/fs').promises;
    if (plain === 'timers/promises') return () => internal('node/timers').promises;
    if (plain === 'process') return () => globalThis.process;
    if (plain === 'console') return () => globalThis.console;
    if (plain === 'perf_hooks') return () => ({ performance: globalThis.performance });
    if (plain === 'parse/node' || plain === 'parse') return () => globalThis.Parse;
    return undefined;
  }

  function asFile(file) {
    const extension = extensions.find(end => host.kindOfFile(file + end) === 1);
    return extension === undefined ? undefined : file + extension;
  }

  function asFolder(folder) {
    if (host.kindOfFile(folder) !== 2) return undefined;
    const about = manifest(folder);
    if (about && typeof about.main === 'string') {
      const main = path.resolve(folder, about.main);
      const found = asFile(main) || asIndex(main);
      if (found) return found;
    }
    return asIndex(folder);
  }

  function asIndex(folder) {
    return ['index.js', 'index.json', 'index.cjs'].map(name => path.join(folder, name)).find(file => host.kindOfFile(file) === 1);
  }

  // The package.json of a folder.
  function manifest(folder) {
    if (!packages.has(folder)) {
      const text = host.readFile(path.join(folder, 'package.json'));
      let about;
      try { about = text === undefined ? undefined : JSON.parse(text); } catch (error) {
        throw new SyntaxError(`${path.join(folder, 'package.json')}: ${error.message}`);
      }
      packages.set(folder, about);
    }
    return packages.get(folder);
  }

  // A package's `exports`: for each entry a file, or files by condition.
  function exported(about, entry) {
    let map = about.exports;
    if (typeof map === 'string' || Array.isArray(map) || !Object.keys(map).some(key => key.startsWith('.'))) map = { '.': map };
    const pick = target => {
      if (typeof target === 'string' || target === null) return target;
      if (Array.isArray(target)) return target.map(pick).find(Boolean);
      for (const condition of Object.keys(target)) {
        if (['node', 'require', 'default'].includes(condition)) {
          const found = pick(target[condition]);
          if (found) return found;
        }
      }
      return undefined;
    };
    if (entry in map) return pick(map[entry]);
    for (const key of Object.keys(map)) {
      const [before, after] = key.split('*');
      if (after !== undefined && entry.startsWith(before) && entry.endsWith(after)) {
        const target = pick(map[key]);
        return target && target.replaceAll('*', entry.slice(before.length, entry.length - after.length));
      }
    }
    return undefined;
  }

  function asPackage(name, list) {
    const parts = name.split('/');
    const packageName = parts.splice(0, name.startsWith('@') ? 2 : 1).join('/');
    for (const folder of list) {
      const root = path.join(folder, packageName);
      if (host.kindOfFile(root) === 2) {
        const about = manifest(root);
        if (about && about.exports) {
          const target = exported(about, ['.', ...parts].join('/'));
          const file = target && path.join(root, target);
          if (file && host.kindOfFile(file) === 1) return file;
          if (parts.length > 0) continue;
        }
      }
      const target = path.join(root, ...parts);
      const found = (parts.length > 0 && asFile(target)) || asFolder(target) || asFile(target);
      if (found) return found;
    }
    return undefined;
  }

  // The first place of the script in a trace of the engine: a line is `function@file:line:column`.
  function caller(error) {
    const line = String(error.stack).split('\n').find(one => /@\//.test(one)) || '';
    const match = /@(\/.*):(\d+):\d+$/.exec(line);
    return match ? `${match[1]}:${match[2]}` : '';
  }

  function fail(name, parent, sentence) {
    const error = new Error(sentence);
    error.code = 'MODULE_NOT_FOUND';
    const place = caller(error) || parent.filename;
    error.message += ` (asked for at ${place})`;
    host.missing(`module "${name}"`, place);
    throw error;
  }

  function resolve(name, parent) {
    if (typeof name !== 'string' || name === '') throw new TypeError('require needs the name of a module');
    let file;
    if (/^\.{0,2}\//.test(name) || name === '.' || name === '..') {
      const target = path.resolve(parent.path, name);
      file = (name.endsWith('/') ? undefined : asFile(target)) || asFolder(target);
    } else {
      file = asPackage(name, parent.paths);
    }
    if (file) return host.realPath(file);
    const isNodes = name.startsWith('node:') || nodes.has(name.split('/')[0]);
    return fail(name, parent, isNodes
      ? `The module "${name}" of Node is not there: cloud code runs without Node. There are ${own.join(', ')}`
      : `Cannot find module '${name}'`);
  }

  // Node's modules that cloud code can't have, so that the error can say so.
  const nodes = new Set(('async_hooks child_process cluster constants dgram diagnostics_channel dns domain http http2 https '
    + 'inspector module net process punycode readline repl stream string_decoder sys tls trace_events tty v8 vm wasi '
    + 'worker_threads zlib').split(' '));

  function load(file, parent) {
    const known = cache[file];
    if (known) return known.exports;
    const loading = new Module(file, parent);
    if (parent) parent.children.push(loading);
    cache[file] = loading;
    try {
      run(loading);
    } catch (error) {
      delete cache[file];
      throw error;
    }
    loading.loaded = true;
    return loading.exports;
  }

  function run(loading) {
    const file = loading.filename;
    let text = host.readFile(file);
    if (text === undefined) throw new Error(`${file} can not be read`);
    if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    if (file.endsWith('.json')) {
      try { loading.exports = JSON.parse(text); } catch (error) { throw new SyntaxError(`${file}: ${error.message}`); }
      return;
    }
    if (text.startsWith('#!')) text = `//${text}`;
    if (file.endsWith('.mjs')) throw new SyntaxError(`${file}: modules of ECMAScript (import, export) can not be loaded; use require`);
    // On the first line of the file, so that errors have the file's own lines.
    const wrapped = host.compile(file, `(function (exports, require, module, __filename, __dirname) {${text}\n})`);
    wrapped.call(loading.exports, loading.exports, loading.require, loading, file, loading.path);
  }

  function requireFrom(parent) {
    const require = name => {
      const given = typeof name === 'string' ? builtin(name) : undefined;
      return given ? given() : load(resolve(name, parent), parent);
    };
    require.resolve = name => (builtin(name) ? name : resolve(name, parent));
    require.cache = cache;
    require.main = undefined;
    return require;
  }

  const require = {
    main: file => { load(file, null); },
  };
  module.exports = { require };
})
