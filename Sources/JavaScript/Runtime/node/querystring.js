// Node's querystring.
(function (internal, module) {
  'use strict';
  const escape = encodeURIComponent;
  function unescape(text) {
    try { return decodeURIComponent(text); } catch { return text; }
  }
  const word = value => (['string', 'number', 'boolean', 'bigint'].includes(typeof value) ? escape(String(value)) : '');

  function stringify(object, separator = '&', equals = '=', options = {}) {
    if (object === null || typeof object !== 'object') return '';
    const encode = options.encodeURIComponent || word;
    const write = value => (typeof value === 'string' ? encode(value) : word(value));
    return Object.keys(object).flatMap(key => [].concat(object[key]).map(value => write(key) + equals + write(value))).join(separator);
  }

  function parse(text, separator = '&', equals = '=', { maxKeys = 1000 } = {}) {
    const result = Object.create(null);
    if (typeof text !== 'string' || text === '') return result;
    const parts = text.split(separator);
    for (const part of maxKeys > 0 ? parts.slice(0, maxKeys) : parts) {
      if (part === '') continue;
      const at = part.indexOf(equals);
      const plain = one => unescape(one.replaceAll('+', ' '));
      const key = plain(at < 0 ? part : part.slice(0, at));
      const value = at < 0 ? '' : plain(part.slice(at + equals.length));
      result[key] = key in result ? [].concat(result[key], value) : value;
    }
    return result;
  }

  module.exports = { stringify, parse, escape, unescape, encode: stringify, decode: parse };
})
