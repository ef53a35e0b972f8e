// Node's util: inspect and format above all, which console uses too.
(function (internal, module) {
  'use strict';
  const custom = Symbol.for('nodejs.util.inspect.custom');

  function inspect(value, options = {}) {
    if (typeof options !== 'object' || options === null) options = {};
    const depth = options.depth === null ? Infinity : options.depth ?? 2;
    return show(value, depth, [], options);
  }

  function quoted(text) {
    const quote = !text.includes("'") ? "'" : !text.includes('"') ? '"' : '`';
    const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
    return quote + (quote === '"' ? escaped.replaceAll('"', '\\"') : escaped) + quote;
  }

  function show(value, depth, above, options) {
    switch (typeof value) {
      case 'string': return quoted(value);
      case 'number': return Object.is(value, -0) ? '-0' : String(value);
      case 'bigint': return `${value}n`;
      case 'symbol': return String(value);
      case 'undefined': case 'boolean': return String(value);
      default:
    }
    if (value === null) return 'null';
    if (above.includes(value)) return '[Circular *1]';
    if (typeof value[custom] === 'function' && value[custom] !== inspect) {
      const shown = value[custom](depth, options, inspect);
      return typeof shown === 'string' ? shown : show(shown, depth, above, options);
    }
    const name = Object.getPrototypeOf(value) === null ? '[Object: null prototype]' : value.constructor && value.constructor.name;
    if (value instanceof Error) return shownError(value, depth, [...above, value], options);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
    if (value instanceof RegExp) return String(value);
    if (value instanceof Promise) return 'Promise {}';
    if (value instanceof WeakMap || value instanceof WeakSet) return `${name} { <items unknown> }`;
    const inner = one => show(one, depth - 1, [...above, value], options);
    const tooDeep = depth < 0;
    const fields = keys => keys.map(key => {
      const about = Object.getOwnPropertyDescriptor(value, key);
      const label = typeof key === 'symbol' ? `[${String(key)}]` : /^[A-Za-z_$][\w$]*$/.test(key) ? key : quoted(key);
      return `${label}: ${about && about.get ? '[Getter]' : inner(value[key])}`;
    });
    const keys = Object.keys(value);
    if (typeof value === 'function') {
      const title = /^class\b/.test(Function.prototype.toString.call(value)) ? `[class ${value.name || '(anonymous)'}]`
        : `[Function${value.name ? `: ${value.name}` : ' (anonymous)'}]`;
      return keys.length > 0 && !tooDeep ? braces(`${title} `, '{', fields(keys), '}') : title;
    }
    if (Array.isArray(value)) {
      if (tooDeep) return '[Array]';
      const items = value.slice(0, 100).map(inner);
      if (value.length > 100) items.push(`... ${value.length - 100} more items`);
      return braces('', '[', items.concat(fields(keys.filter(key => !/^\d+$/.test(key)))), ']');
    }
    if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
      return braces(`${name}(${value.length}) `, '[', [...value.slice(0, 100)].map(String), ']');
    }
    if (tooDeep) return `[${name || 'Object'}]`;
    if (value instanceof Map) return braces(`Map(${value.size}) `, '{', [...value].map(([key, one]) => `${inner(key)} => ${inner(one)}`), '}');
    if (value instanceof Set) return braces(`Set(${value.size}) `, '{', [...value].map(inner), '}');
    return braces(name && name !== 'Object' ? `${name} ` : '', '{', fields(keys), '}');
  }

  function shownError(error, depth, above, options) {
    const head = `${error.name || 'Error'}: ${error.message}`;
    const trace = String(error.stack || '').split('\n').filter(line => /@\//.test(line))
      .map(line => line.replace(/^(.*?)@(\/.*)$/, (_, name, place) => `    at ${name ? `${name} (${place})` : place}`));
    const keys = Object.keys(error).filter(key => !['line', 'column', 'sourceURL', 'message', 'stack'].includes(key));
    const fields = keys.map(key => `${key}: ${show(error[key], depth - 1, above, options)}`);
    return [head, ...trace].join('\n') + (fields.length > 0 ? ` { ${fields.join(', ')} }` : '');
  }

  function braces(title, open, items, close) {
    if (items.length === 0) return `${title}${open}${close}`;
    const line = `${title}${open} ${items.join(', ')} ${close}`;
    if (line.length <= 76 && !line.includes('\n')) return line;
    return `${title}${open}\n  ${items.map(item => item.replaceAll('\n', '\n  ')).join(',\n  ')}\n${close}`;
  }

  function format(...values) {
    let first = values[0];
    let used = 0;
    if (typeof first === 'string') {
      used = 1;
      first = first.replace(/%[sdifjoOc%]/g, mark => {
        if (mark === '%%') return '%';
        if (used >= values.length) return mark;
        const value = values[used++];
        switch (mark) {
          case '%s': return typeof value === 'object' && value !== null ? inspect(value, { depth: 0 }) : String(value);
          case '%d': return typeof value === 'object' ? 'NaN' : String(Number(value));
          case '%i': return String(parseInt(value, 10));
          case '%f': return String(parseFloat(value));
          case '%j': try { return JSON.stringify(value); } catch { return '[Circular]'; }
          case '%c': return '';
          default: return inspect(value, { depth: 4 });
        }
      });
    } else {
      first = undefined;
    }
    const rest = values.slice(used).map(value => (typeof value === 'string' ? value : inspect(value)));
    return (first === undefined ? rest : [first, ...rest]).join(' ');
  }

  function promisify(original) {
    if (typeof original !== 'function') throw new TypeError('The "original" argument must be of type function');
    if (original[promisify.custom]) return original[promisify.custom];
    return function (...values) {
      return new Promise((resolve, reject) => {
        original.call(this, ...values, (error, value) => { if (error) reject(error); else resolve(value); });
      });
    };
  }
  promisify.custom = Symbol.for('nodejs.util.promisify.custom');

  function callbackify(original) {
    return function (...values) {
      const callback = values.pop();
      original.apply(this, values).then(
        value => queueMicrotask(() => callback(null, value)),
        error => queueMicrotask(() => callback(error || Object.assign(new Error('rejected without a reason'), { reason: error }))));
    };
  }

  function inherits(constructor, parent) {
    Object.defineProperty(constructor, 'super_', { value: parent, writable: true, configurable: true });
    Object.setPrototypeOf(constructor.prototype, parent.prototype);
  }

  function deprecate(original, sentence) {
    let said = false;
    return function (...values) {
      if (!said) console.warn(`deprecated: ${sentence}`);
      said = true;
      return original.apply(this, values);
    };
  }

  // Equal in value and kind, at any depth.
  function isDeepStrictEqual(one, other, seen = []) {
    if (Object.is(one, other)) return true;
    if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
    if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
    if (seen.some(([a, b]) => a === one && b === other)) return true;
    const deeper = [...seen, [one, other]];
    const same = (a, b) => isDeepStrictEqual(a, b, deeper);
    if (one instanceof Date) return Object.is(one.getTime(), other.getTime());
    if (one instanceof RegExp) return String(one) === String(other);
    if (one instanceof Error && (one.message !== other.message || one.name !== other.name)) return false;
    if (one instanceof Number || one instanceof String || one instanceof Boolean) return Object.is(one.valueOf(), other.valueOf());
    if (ArrayBuffer.isView(one)) {
      return one.byteLength === other.byteLength && [...new Uint8Array(one.buffer, one.byteOffset, one.byteLength)]
        .every((byte, index) => byte === new Uint8Array(other.buffer, other.byteOffset, other.byteLength)[index]);
    }
    if (one instanceof Map) {
      return one.size === other.size && [...one].every(([key, value]) => (other.has(key) ? same(value, other.get(key))
        : [...other].some(([otherKey, otherValue]) => same(key, otherKey) && same(value, otherValue))));
    }
    if (one instanceof Set) {
      return one.size === other.size && [...one].every(value => other.has(value) || [...other].some(candidate => same(value, candidate)));
    }
    if (Array.isArray(one) && one.length !== other.length) return false;
    const keys = Object.keys(one);
    return keys.length === Object.keys(other).length && keys.every(key => Object.hasOwn(other, key) && same(one[key], other[key]));
  }

  const kind = value => Object.prototype.toString.call(value).slice(8, -1);
  const types = {
    isDate: value => value instanceof Date,
    isRegExp: value => value instanceof RegExp,
    isPromise: value => value instanceof Promise,
    isMap: value => value instanceof Map,
    isSet: value => value instanceof Set,
    isWeakMap: value => value instanceof WeakMap,
    isWeakSet: value => value instanceof WeakSet,
    isNativeError: value => value instanceof Error,
    isArrayBuffer: value => value instanceof ArrayBuffer,
    isAnyArrayBuffer: value => value instanceof ArrayBuffer,
    isArrayBufferView: value => ArrayBuffer.isView(value),
    isTypedArray: value => ArrayBuffer.isView(value) && !(value instanceof DataView),
    isUint8Array: value => value instanceof Uint8Array,
    isDataView: value => value instanceof DataView,
    isAsyncFunction: value => kind(value) === 'AsyncFunction',
    isGeneratorFunction: value => kind(value) === 'GeneratorFunction',
    isGeneratorObject: value => kind(value) === 'Generator',
    isSymbolObject: value => value instanceof Symbol,
    isNumberObject: value => value instanceof Number,
    isStringObject: value => value instanceof String,
    isBooleanObject: value => value instanceof Boolean,
    isBoxedPrimitive: value => [Number, String, Boolean, Symbol, BigInt].some(box => value instanceof box),
    isProxy: () => false,
  };

  inspect.custom = custom;
  inspect.defaultOptions = {};
  module.exports = {
    inspect, format, promisify, callbackify, inherits, deprecate, isDeepStrictEqual, types,
    formatWithOptions: (options, ...values) => format(...values),
    debuglog: () => Object.assign(() => {}, { enabled: false }),
    stripVTControlCharacters: text => text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, ''),
    toUSVString: text => String(text).toWellFormed(),
    isArray: Array.isArray,
    isString: value => typeof value === 'string',
    isFunction: value => typeof value === 'function',
    isObject: value => typeof value === 'object' && value !== null,
    isError: value => value instanceof Error,
    isRegExp: types.isRegExp,
    isDate: types.isDate,
    get TextEncoder() { return globalThis.TextEncoder; },
    get TextDecoder() { return globalThis.TextDecoder; },
  };
})
