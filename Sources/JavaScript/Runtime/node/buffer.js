// Node's Buffer: bytes with encodings and numbers of every size.
(function (internal, module) {
  'use strict';
  const encoding = internal('web/encoding');

  const writers = {
    utf8: encoding.encode,
    hex: text => {
      const pairs = /^(?:[0-9a-fA-F]{2})*/.exec(text)[0];
      return Uint8Array.from({ length: pairs.length / 2 }, (_, i) => parseInt(pairs.slice(i * 2, i * 2 + 2), 16));
    },
    base64: encoding.fromBase64,
    base64url: encoding.fromBase64,
    latin1: text => Uint8Array.from(text, letter => letter.charCodeAt(0) & 255),
    utf16le: text => Uint8Array.from({ length: text.length * 2 }, (_, i) => (text.charCodeAt(i >> 1) >> ((i & 1) * 8)) & 255),
  };
  const readers = {
    utf8: bytes => encoding.decode(bytes),
    hex: bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join(''),
    base64: bytes => encoding.toBase64(bytes),
    base64url: bytes => encoding.toBase64(bytes, true),
    latin1: encoding.binary,
    ascii: bytes => encoding.binary(Uint8Array.from(bytes, byte => byte & 127)),
    utf16le: bytes => new encoding.TextDecoder('utf-16le').decode(bytes),
  };
  const names = { 'utf-8': 'utf8', binary: 'latin1', ucs2: 'utf16le', 'ucs-2': 'utf16le', 'utf-16le': 'utf16le' };

  function pick(table, name = 'utf8') {
    const plain = String(name).toLowerCase();
    const found = table[names[plain] || plain] || (plain === 'ascii' && table.latin1);
    if (!found) throw new TypeError(`Unknown encoding: ${name}`);
    return found;
  }

  class Buffer extends Uint8Array {
    static from(source, second, third) {
      if (typeof source === 'string') return share(pick(writers, second || 'utf8')(source));
      if (source instanceof ArrayBuffer) return new Buffer(source, second, third);
      if (ArrayBuffer.isView(source)) return copy(source);
      if (source && source.type === 'Buffer' && Array.isArray(source.data)) return copy(source.data);
      if (source === null || typeof source !== 'object') {
        throw new TypeError('Buffer.from needs a text, bytes, a buffer or a list of numbers');
      }
      if (typeof source.valueOf() === 'string') return Buffer.from(source.valueOf(), second);
      return copy(Array.from(source));
    }
    static alloc(size, fill, name) {
      const buffer = new Buffer(size);
      return fill === undefined || fill === 0 ? buffer : buffer.fill(fill, 0, size, name);
    }
    static allocUnsafe(size) { return new Buffer(size); }
    static allocUnsafeSlow(size) { return new Buffer(size); }
    static isBuffer(value) { return value instanceof Buffer; }
    static isEncoding(name) {
      try { return Boolean(pick(readers, name)); } catch { return false; }
    }
    static byteLength(value, name) { return typeof value === 'string' ? Buffer.from(value, name).length : value.byteLength; }
    static concat(list, length = list.reduce((sum, one) => sum + one.length, 0)) {
      const whole = new Buffer(length);
      let at = 0;
      for (const one of list) {
        if (at >= length) break;
        whole.set(one.subarray(0, length - at), at);
        at += one.length;
      }
      return whole;
    }
    static compare(one, other) { return Buffer.prototype.compare.call(one, other); }

    toString(name, start = 0, end = this.length) { return pick(readers, name)(this.subarray(start, end)); }
    toLocaleString(name) { return this.toString(name); }
    toJSON() { return { type: 'Buffer', data: Array.from(this) }; }
    equals(other) { return this.length === other.length && this.every((byte, index) => byte === other[index]); }
    compare(other) {
      const shorter = Math.min(this.length, other.length);
      for (let i = 0; i < shorter; i++) if (this[i] !== other[i]) return this[i] < other[i] ? -1 : 1;
      return Math.sign(this.length - other.length);
    }
    // Unlike a typed array's, it shares the bytes.
    slice(start, end) { return this.subarray(start, end); }
    copy(target, at = 0, start = 0, end = this.length) {
      const part = this.subarray(start, Math.min(end, start + target.length - at));
      target.set(part, at);
      return part.length;
    }
    write(text, at = 0, length, name) {
      if (typeof at === 'string') [at, name] = [0, at];
      if (typeof length === 'string') [length, name] = [undefined, length];
      const bytes = pick(writers, name)(text).subarray(0, Math.min(length ?? Infinity, this.length - at));
      this.set(bytes, at);
      return bytes.length;
    }
    fill(value, start = 0, end = this.length, name) {
      if (typeof start === 'string') [start, end, name] = [0, this.length, start];
      if (typeof value === 'number') return super.fill(value & 255, start, end);
      const bytes = typeof value === 'string' ? pick(writers, name)(value) : value;
      for (let i = start; i < end; i++) this[i] = bytes.length > 0 ? bytes[(i - start) % bytes.length] : 0;
      return this;
    }
    indexOf(value, at = 0, name) { return find(this, value, at, name, 1); }
    lastIndexOf(value, at = this.length, name) { return find(this, value, at, name, -1); }
    includes(value, at, name) { return this.indexOf(value, at, name) >= 0; }
    swap16() {
      for (let i = 0; i + 1 < this.length; i += 2) [this[i], this[i + 1]] = [this[i + 1], this[i]];
      return this;
    }
    get parent() { return this.buffer; }
    get offset() { return this.byteOffset; }

    readUIntBE(at, size) { return this.subarray(at, at + size).reduce((sum, byte) => sum * 256 + byte, 0); }
    readUIntLE(at, size) { return this.subarray(at, at + size).reduceRight((sum, byte) => sum * 256 + byte, 0); }
    readIntBE(at, size) { return signed(this.readUIntBE(at, size), size); }
    readIntLE(at, size) { return signed(this.readUIntLE(at, size), size); }
    writeUIntBE(value, at, size) {
      for (let i = size - 1; i >= 0; i--, value = Math.floor(value / 256)) this[at + i] = value & 255;
      return at + size;
    }
    writeUIntLE(value, at, size) {
      for (let i = 0; i < size; i++, value = Math.floor(value / 256)) this[at + i] = value & 255;
      return at + size;
    }
    writeIntBE(value, at, size) { return this.writeUIntBE(value, at, size); }
    writeIntLE(value, at, size) { return this.writeUIntLE(value, at, size); }
  }

  const signed = (value, size) => (value >= 2 ** (size * 8 - 1) ? value - 2 ** (size * 8) : value);
  const share = bytes => new Buffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  function copy(source) {
    const buffer = new Buffer(source.length);
    buffer.set(source);
    return buffer;
  }
  function find(buffer, value, at, name, step) {
    const bytes = typeof value === 'number' ? [value & 255] : typeof value === 'string' ? pick(writers, name)(value) : value;
    if (at < 0) at += buffer.length;
    for (let i = Math.max(0, Math.min(at, buffer.length - bytes.length)); i >= 0 && i + bytes.length <= buffer.length; i += step) {
      let same = 0;
      while (same < bytes.length && buffer[i + same] === bytes[same]) same++;
      if (same === bytes.length) return i;
    }
    return -1;
  }

  // readUInt8, writeInt16BE, readDoubleLE and the like, by way of DataView.
  const kinds = { UInt8: 'Uint8', Int8: 'Int8', UInt16: 'Uint16', Int16: 'Int16', UInt32: 'Uint32', Int32: 'Int32',
    BigUInt64: 'BigUint64', BigInt64: 'BigInt64', Float: 'Float32', Double: 'Float64' };
  for (const [name, kind] of Object.entries(kinds)) {
    const size = Number(/\d+$/.exec(kind)[0]) / 8;
    for (const order of size === 1 ? [''] : ['BE', 'LE']) {
      const view = buffer => new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
      const read = function (at = 0) { return view(this)[`get${kind}`](at, order === 'LE'); };
      const write = function (value, at = 0) {
        view(this)[`set${kind}`](at, value, order === 'LE');
        return at + size;
      };
      const other = name.replace('UInt', 'Uint');
      for (const alias of new Set([name, other])) {
        Object.defineProperty(Buffer.prototype, `read${alias}${order}`, { value: read, configurable: true, writable: true });
        Object.defineProperty(Buffer.prototype, `write${alias}${order}`, { value: write, configurable: true, writable: true });
      }
    }
  }
  Buffer.poolSize = 8192;

  module.exports = { Buffer, kMaxLength: 2 ** 32, constants: { MAX_LENGTH: 2 ** 32, MAX_STRING_LENGTH: 2 ** 29 },
    atob: encoding.atob, btoa: encoding.btoa, get Blob() { return internal('web/fetch').Blob; } };
})
