// structuredClone: a deep copy that keeps cycles, dates, maps, sets, expressions, errors and bytes.
(function (internal, module) {
  'use strict';
  const errors = { Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError };

  function refuse(value) {
    const { DOMException } = internal('web/abort');
    throw new DOMException(`${typeof value} could not be cloned`, 'DataCloneError');
  }

  function copy(value, seen) {
    if (typeof value === 'function' || typeof value === 'symbol') refuse(value);
    if (value === null || typeof value !== 'object') return value;
    if (seen.has(value)) return seen.get(value);
    const keep = made => { seen.set(value, made); return made; };
    if (value instanceof Date) return keep(new Date(value.getTime()));
    if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
    if (value instanceof ArrayBuffer) return keep(value.slice(0));
    if (ArrayBuffer.isView(value)) {
      const buffer = copy(value.buffer, seen);
      const length = value instanceof DataView ? value.byteLength : value.length;
      const kind = value instanceof DataView ? DataView : Object.getPrototypeOf(Uint8Array.prototype).constructor;
      const constructor = kind === DataView ? DataView : globalThis[value[Symbol.toStringTag]];
      return keep(new constructor(buffer, value.byteOffset, length));
    }
    if (value instanceof Boolean || value instanceof Number || value instanceof String) return keep(Object(value.valueOf()));
    if (value instanceof Map) {
      const made = keep(new Map());
      for (const [key, one] of value) made.set(copy(key, seen), copy(one, seen));
      return made;
    }
    if (value instanceof Set) {
      const made = keep(new Set());
      for (const one of value) made.add(copy(one, seen));
      return made;
    }
    if (value instanceof Error) {
      const made = keep(new (errors[value.name] || Error)(value.message));
      if ('cause' in value) made.cause = copy(value.cause, seen);
      return made;
    }
    if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet) refuse(value);
    const made = keep(Array.isArray(value) ? new Array(value.length) : {});
    for (const key of Object.keys(value)) made[key] = copy(value[key], seen);
    return made;
  }

  module.exports = value => copy(value, new Map());
})
