// require: files and folders of the application, JSON, packages in node_modules, and a few of Node's own modules.
(function (internal, module, host) {
  'use strict';
  const path = internal('node/path');
  const { translate, surroundings } = internal('esmodule');
  const check = internal('check');
  const configuration = host.configuration();
  const cache = Object.create(null);
  const packages = new Map();
  const own = ['assert', 'buffer', 'crypto', 'events', 'fs', 'http', 'https', 'os', 'path', 'querystring', 'stream',
    'string_decoder', 'timers', 'tty', 'url', 'util', 'zlib'];
  // Packages name these when they are loaded; an application that names one means to use it.
  const forPackages = ['child_process', 'http2'];
  // Where a module lies that has no script to itself.
  const parts = { http: 'http', https: 'http', string_decoder: 'stubs', tty: 'stubs', zlib: 'stubs', child_process: 'stubs', http2: 'stubs' };
  const extensions = ['', '.js', '.json', '.cjs'];

  class Module {
    constructor(filename, parent, isPackage) {
      this.id = filename;
      // Of a package, not of the application.
      this.isPackage = isPackage;
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

  function builtin(name, parent) {
    const plain = name.replace(/^node:/, '');
    if (own.includes(plain) || (parent.isPackage && forPackages.includes(plain))) {
      const exports = parts[plain] ? internal(`node/${parts[plain]}`)[plain] : internal(`node/${plain}`);
      return () => exports;
    }
    if (plain === 'stream/promises') return () => internal('node/stream').promises;
    if (plain === 'fs/promises') return () => internal('node/fs').promises;
    if (plain === 'module') return () => ({ createRequire: file => requireFrom(new Module(fileOf(file), null, false)) });
    if (plain === 'timers/promises') return () => internal('node/timers').promises;
    if (plain === 'process') return () => globalThis.process;
    if (plain === 'console') return () => globalThis.console;
    if (plain === 'perf_hooks') return () => ({ performance: globalThis.performance });
    if (plain === 'parse/node' || plain === 'parse/node.js' || plain === 'parse') return () => globalThis.Parse;
    return undefined;
  }

  const fileOf = place => (/^file:/.test(String(place)) ? internal('node/url').fileURLToPath(String(place)) : String(place));

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

  // A package's `exports`: for each entry a file, or files by condition; `kind` is `require` or `import`.
  function exported(about, entry, kind) {
    let map = about.exports;
    if (typeof map === 'string' || Array.isArray(map) || !Object.keys(map).some(key => key.startsWith('.'))) map = { '.': map };
    const pick = target => {
      if (typeof target === 'string' || target === null) return target;
      if (Array.isArray(target)) return target.map(pick).find(Boolean);
      for (const condition of Object.keys(target)) {
        if (['node', kind, 'default'].includes(condition)) {
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

  function asPackage(name, list, kind) {
    const parts = name.split('/');
    const packageName = parts.splice(0, name.startsWith('@') ? 2 : 1).join('/');
    for (const folder of list) {
      const root = path.join(folder, packageName);
      if (host.kindOfFile(root) === 2) {
        const about = manifest(root);
        if (about && about.exports) {
          const entry = ['.', ...parts].join('/');
          // A package for one of the two only serves the other as well.
          const target = exported(about, entry, kind) || exported(about, entry, kind === 'import' ? 'require' : 'import');
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
  function placeOf(error) {
    const line = String(error.stack).split('\n').find(one => /@\//.test(one)) || '';
    const match = /@(\/.*):(\d+):\d+$/.exec(line);
    return match ? `${match[1]}:${match[2]}` : '';
  }

  // Why there is no such module, and what to do.
  function lack(name, parent) {
    if (isNodes(name)) return `The module "${name}" of Node is not there: cloud code runs without Node. There are ${own.join(', ')}`;
    if (isPath(name)) return `Cannot find module '${name}': there is no such file`;
    if (name.startsWith('cloud/')) return `Cannot find module '${name}': write it as a path from the file that asks, such as './${name.slice(6)}'`;
    if (/^[@~]\//.test(name)) return `Cannot find module '${name}': such names are made outside of the cloud code; write it as a path from the file that asks`;
    return `Cannot find module '${name}': install it with \`npm install ${packageOf(name)}\` in ${project(parent.path)}`;
  }
  // The folder with the package.json that a file belongs to.
  function project(folder) {
    for (let here = folder; ; here = path.dirname(here)) {
      if (host.kindOfFile(path.join(here, 'package.json')) === 1) return here;
      if (here === path.dirname(here)) return folder;
    }
  }
  const isNodes = name => name.startsWith('node:') || nodes.has(name.split('/')[0]);
  const isPath = name => /^\.{0,2}\//.test(name) || name === '.' || name === '..';
  const packageOf = name => name.split('/').slice(0, name.startsWith('@') ? 2 : 1).join('/');

  function fail(name, parent) {
    const error = new Error(lack(name, parent));
    error.code = 'MODULE_NOT_FOUND';
    const place = placeOf(error) || parent.filename;
    error.message += ` (asked for at ${place})`;
    if (!check.isOn) host.missing(`module "${name}"`, place);
    throw error;
  }

  // The file of a module; undefined where there is none.
  function find(name, parent, kind) {
    if (typeof name !== 'string' || name === '') throw new TypeError('require needs the name of a module');
    let file;
    if (isPath(name)) {
      const target = path.resolve(parent.path, name);
      file = (name.endsWith('/') ? undefined : asFile(target)) || asFolder(target);
    } else {
      file = asPackage(name, parent.paths, kind);
    }
    return file && host.realPath(file);
  }
  const resolve = (name, parent, kind) => find(name, parent, kind) || fail(name, parent);

  // Node's modules that cloud code can't have, so that the error can say so.
  const nodes = new Set(('async_hooks child_process cluster constants dgram diagnostics_channel dns domain http2 '
    + 'inspector net punycode readline repl sys tls trace_events v8 vm wasi '
    + 'worker_threads').split(' '));

  function load(file, parent, isPackage) {
    const known = cache[file];
    if (known) return known.exports;
    const loading = new Module(file, parent, isPackage);
    if (parent) parent.children.push(loading);
    cache[file] = loading;
    try {
      run(loading);
    } catch (error) {
      if (check.isOn && !isPackage) check.tellEnd(error, placeOf(error) || file);
      else {
        delete cache[file];
        throw error;
      }
    }
    loading.loaded = true;
    return loading.exports;
  }

  function textOf(file) {
    let text = host.readFile(file);
    if (text === undefined) throw new Error(`${file} can not be read`);
    if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    return text.startsWith('#!') ? `//${text}` : text;
  }

  function run(loading) {
    const file = loading.filename;
    const text = textOf(file);
    if (file.endsWith('.json')) {
      try { loading.exports = JSON.parse(text); } catch (error) { throw new SyntaxError(`${file}: ${error.message}`); }
      return;
    }
    if (check.isOn && !loading.isPackage) examine(loading, text);
    const translated = translate(text);
    const around = translated && surroundings(loading, name => required(name, loading, 'import'));
    if (translated && translated.isModule) return runModule(loading, translated, around);
    // On the first line of the file, so that errors have the file's own lines.
    const body = host.compile(file, `(function (exports, require, module, __filename, __dirname, __hermes) {${translated ? translated.body : text}\n})`);
    body.call(loading.exports, loading.exports, loading.require, loading, file, loading.path, around);
  }

  // What the main file comes to where it waits.
  let waited;
  function runModule(loading, { body, mayWait }, around) {
    const compile = head => host.compile(loading.filename, `(${head} (__hermes) {${body}\n})`);
    let run;
    try { run = compile('function'); } catch (error) {
      // Outside of functions, only the main file may wait: nobody would wait for it elsewhere.
      if (loading.parent || !mayWait) throw error;
      run = compile('async function');
    }
    const ended = run.call(undefined, around);
    if (!loading.parent) waited = ended;
  }

  // What a module asks for by its name.
  function required(name, parent, kind) {
    const given = typeof name === 'string' ? builtin(name, parent) : undefined;
    if (!given && check.isOn && !parent.isPackage) return tried(name, parent, kind);
    return given ? given() : load(resolve(name, parent, kind), parent, parent.isPackage || !isPath(name));
  }

  function requireFrom(parent) {
    const require = name => required(name, parent, 'require');
    require.resolve = name => (builtin(name, parent) ? name : resolve(name, parent, 'require'));
    require.cache = cache;
    require.main = undefined;
    return require;
  }

  // MARK: the check

  const lazy = [];
  const told = new Set();
  const broken = new Set();

  function examine(loading, text) {
    check.examine(loading.filename, text, (name, place) => {
      if (builtin(name, loading)) return;
      const file = find(name, loading);
      if (!file) tell(name, lack(name, loading), place);
      else if (isPath(name)) lazy.push(() => { if (/\.[cm]?js$/.test(file)) examine(new Module(file, loading, false), textOf(file)); });
      else lazy.push(() => { tried(name, loading, 'require', place); });
    });
  }
  function tell(name, why, place) {
    told.add(name);
    host.missing(`module "${name}": ${why.replace(/^Cannot find module '[^']*': /, '')}`, place);
  }

  // As in `required`, but what is missing is told, and something stands in its place.
  function tried(name, parent, kind, place) {
    const file = find(name, parent, kind);
    if (!file) {
      if (!told.has(name)) tell(name, lack(name, parent), placeOf(new Error()));
      return check.standIn();
    }
    try { return load(file, parent, !isPath(name)); } catch (error) {
      if (!broken.has(name)) tell(name, `the package can not be loaded: ${error.message}`, place || placeOf(new Error()));
      broken.add(name);
      return check.standIn();
    }
  }

  const require = {
    main: file => {
      load(file, null, false);
      // What is asked for only when something happens counts as well.
      for (let next = lazy.shift(); next; next = lazy.shift()) next();
      return waited;
    },
  };
  module.exports = { require, placeOf };
})
