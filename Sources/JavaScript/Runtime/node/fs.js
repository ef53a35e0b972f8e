// Node's fs, as far as it reads: templates, certificates and data beside the code. Cloud code writes no files.
(function (internal, module, host) {
  'use strict';
  const { Buffer } = internal('node/buffer');
  const path = internal('node/path');

  function placeOf(place) {
    if (place instanceof URL) return internal('node/url').fileURLToPath(place.href);
    return path.resolve(Buffer.isBuffer(place) ? place.toString() : String(place));
  }
  function fault(code, sentence, call, file) {
    const numbers = { ENOENT: -2, EISDIR: -21, ENOTDIR: -20, EROFS: -30 };
    return Object.assign(new Error(`${code}: ${sentence}, ${call} '${file}'`), { errno: numbers[code], code, syscall: call, path: file });
  }
  function kindOf(place, call) {
    const file = placeOf(place);
    const kind = host.kindOfFile(file);
    if (kind === 0) throw fault('ENOENT', 'no such file or directory', call, file);
    return { file, kind };
  }

  const sync = {
    readFile(place, options) {
      const { file, kind } = kindOf(place, 'open');
      if (kind === 2) throw fault('EISDIR', 'illegal operation on a directory', 'read', file);
      const read = host.readBytes(file);
      if (!read) throw fault('ENOENT', 'the file can not be read', 'open', file);
      const bytes = Buffer.from(read.buffer, read.byteOffset, read.byteLength);
      const encoding = typeof options === 'string' ? options : options && options.encoding;
      return encoding && encoding !== 'buffer' ? bytes.toString(encoding) : bytes;
    },
    readdir(place, options) {
      const { file, kind } = kindOf(place, 'scandir');
      if (kind !== 2) throw fault('ENOTDIR', 'not a directory', 'scandir', file);
      const names = host.namesIn(file).sort();
      if (!(options && options.withFileTypes)) return names;
      return names.map(name => ({ name, path: file, parentPath: file, ...sorts(host.kindOfFile(path.join(file, name))) }));
    },
    stat(place, options) {
      if (options && options.throwIfNoEntry === false && !sync.exists(place)) return undefined;
      const { file, kind } = kindOf(place, 'stat');
      const [size, changed] = host.statOf(file);
      return { size, mtimeMs: changed, mtime: new Date(changed), ...sorts(kind) };
    },
    access(place) { kindOf(place, 'access'); },
    realpath: place => host.realPath(kindOf(place, 'lstat').file),
    exists: place => { try { return host.kindOfFile(placeOf(place)) !== 0; } catch { return false; } },
  };
  sync.lstat = sync.stat;
  const sorts = kind => ({ isFile: () => kind === 1, isDirectory: () => kind === 2, isSymbolicLink: () => false });

  const writing = ['appendFile', 'chmod', 'chown', 'copyFile', 'cp', 'link', 'mkdir', 'mkdtemp', 'rename', 'rm', 'rmdir', 'symlink', 'truncate',
    'unlink', 'utimes', 'writeFile'];
  for (const name of writing) sync[name] = file => { throw fault('EROFS', 'cloud code writes no files', name, String(file)); };

  const fs = { constants: { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 }, promises: {} };
  fs.promises.constants = fs.constants;
  for (const [name, body] of Object.entries(sync)) {
    fs[`${name}Sync`] = body;
    if (name !== 'exists') fs.promises[name] = async (...given) => body(...given);
    fs[name] = (...given) => {
      const done = given.pop();
      if (typeof done !== 'function') throw new TypeError(`fs.${name} needs a callback`);
      let answer;
      try { answer = name === 'exists' ? [body(...given)] : [null, body(...given)]; } catch (error) { answer = [error]; }
      setTimeout(() => done(...answer), 0);
    };
  }
  for (const name of ['createReadStream', 'createWriteStream', 'open', 'openSync', 'watch', 'watchFile']) {
    fs[name] = file => { throw new Error(`fs.${name} is not there: cloud code reads whole files, with readFile or readFileSync ('${file}')`); };
  }
  module.exports = fs;
})
