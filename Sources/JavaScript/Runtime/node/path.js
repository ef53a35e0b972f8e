// Node's path, of POSIX systems.
(function (internal, module, host) {
  'use strict';

  function normalize(file) {
    if (file === '') return '.';
    const absolute = file.startsWith('/');
    const parts = [];
    for (const part of file.split('/')) {
      if (part === '' || part === '.') continue;
      if (part !== '..') parts.push(part);
      else if (parts.length > 0 && parts.at(-1) !== '..') parts.pop();
      else if (!absolute) parts.push('..');
    }
    let result = (absolute ? '/' : '') + parts.join('/');
    if (result === '') result = '.';
    return file.endsWith('/') && !result.endsWith('/') ? `${result}/` : result;
  }

  const join = (...parts) => normalize(parts.filter(part => part !== '').join('/'));

  function resolve(...parts) {
    let result = '';
    for (const part of [...parts].reverse()) {
      if (part === '') continue;
      result = result === '' ? part : `${part}/${result}`;
      if (part.startsWith('/')) break;
    }
    if (!result.startsWith('/')) result = `${host.configuration().workingFolder}/${result}`;
    result = normalize(result);
    return result.length > 1 && result.endsWith('/') ? result.slice(0, -1) : result;
  }

  const trimmed = file => (file.length > 1 ? file.replace(/\/+$/, '') || '/' : file);
  function dirname(file) {
    const plain = trimmed(file);
    const end = plain.lastIndexOf('/');
    return end < 0 ? '.' : end === 0 ? '/' : plain.slice(0, end).replace(/\/+$/, '') || '/';
  }
  function basename(file, end = '') {
    const name = trimmed(file).replace(/^.*\//, '');
    return end && name !== end && name.endsWith(end) ? name.slice(0, -end.length) : name;
  }
  function extname(file) {
    const name = basename(file);
    const dot = name.lastIndexOf('.');
    return dot <= 0 ? '' : name.slice(dot);
  }
  function relative(from, to) {
    const one = resolve(from).split('/').filter(Boolean);
    const other = resolve(to).split('/').filter(Boolean);
    let same = 0;
    while (same < one.length && same < other.length && one[same] === other[same]) same++;
    return [...one.slice(same).map(() => '..'), ...other.slice(same)].join('/');
  }
  function parse(file) {
    const root = file.startsWith('/') ? '/' : '';
    const base = basename(file);
    const ext = extname(file);
    const dir = dirname(file);
    return { root, dir: dir === '.' && !file.startsWith('.') ? '' : dir, base, ext, name: ext ? base.slice(0, -ext.length) : base };
  }
  function format({ root = '', dir, base, name = '', ext = '' }) {
    const last = base || name + (ext && !ext.startsWith('.') ? `.${ext}` : ext);
    if (!dir) return root + last;
    return dir === root ? dir + last : `${dir}/${last}`;
  }

  const path = { sep: '/', delimiter: ':', normalize, join, resolve, dirname, basename, extname, relative, parse, format,
    isAbsolute: file => file.startsWith('/'), toNamespacedPath: file => file };
  path.posix = path;
  module.exports = path;
})
