// Node's crypto, as far as it needs no keys: digests, HMAC, random bytes.
(function (internal, module, host) {
  'use strict';
  const { Buffer } = internal('node/buffer');

  const bytesOf = (value, name) => (typeof value === 'string' ? Buffer.from(value, name)
    : ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value));
  const shown = (bytes, name) => {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return name && name !== 'buffer' ? buffer.toString(name) : buffer;
  };

  class Digest {
    #parts = [];
    #finish;
    #done = false;
    constructor(finish) { this.#finish = finish; }
    update(data, name) {
      if (this.#done) throw new Error('Digest already called');
      // A copy: the caller may go on with its bytes.
      this.#parts.push(Buffer.from(bytesOf(data, name)));
      return this;
    }
    digest(name) {
      if (this.#done) throw new Error('Digest already called');
      this.#done = true;
      return shown(this.#finish(Buffer.concat(this.#parts)), name);
    }
    copy() {
      const copy = new Digest(this.#finish);
      for (const part of this.#parts) copy.update(part);
      return copy;
    }
  }

  function digested(result, algorithm) {
    if (!result) throw new Error(`Digest method not supported: ${algorithm}`);
    return result;
  }
  const createHash = algorithm => {
    digested(host.digest(algorithm, new Uint8Array(0)), algorithm);
    return new Digest(bytes => host.digest(algorithm, bytes));
  };
  const createHmac = (algorithm, key) => {
    const secret = Buffer.from(bytesOf(key));
    digested(host.hmac(algorithm, secret, new Uint8Array(0)), algorithm);
    return new Digest(bytes => host.hmac(algorithm, secret, bytes));
  };

  function later(callback, make) {
    if (!callback) return make();
    queueMicrotask(() => {
      let value;
      try { value = make(); } catch (error) { callback(error); return; }
      callback(null, value);
    });
    return undefined;
  }
  const randomBytes = (size, callback) => later(callback, () => shown(host.randomBytes(size)));
  function randomFillSync(target, at = 0, size = target.byteLength - at) {
    bytesOf(target).set(host.randomBytes(size), at);
    return target;
  }
  function randomInt(low, high, callback) {
    if (high === undefined || typeof high === 'function') [low, high, callback] = [0, low, high];
    const range = high - low;
    if (!(range > 0 && range <= 2 ** 48 - 1)) throw new RangeError('randomInt: the range is empty or too large');
    return later(callback, () => {
      const limit = 2 ** 48 - (2 ** 48 % range);
      for (;;) {
        const value = Buffer.from(host.randomBytes(6)).readUIntBE(0, 6);
        if (value < limit) return low + (value % range);
      }
    });
  }
  function randomUUID() {
    const bytes = host.randomBytes(16);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    return shown(bytes, 'hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  }
  function timingSafeEqual(one, other) {
    const [a, b] = [bytesOf(one), bytesOf(other)];
    if (a.length !== b.length) throw new RangeError('Input buffers must have the same byte length');
    return host.sameBytes(a, b);
  }
  function getRandomValues(target) {
    if (!ArrayBuffer.isView(target) || target.byteLength > 65536) throw new RangeError('getRandomValues: 65,536 bytes at most');
    return randomFillSync(target);
  }

  const subtle = {
    digest: async (algorithm, data) => {
      const name = typeof algorithm === 'string' ? algorithm : algorithm.name;
      const bytes = digested(host.digest(name, bytesOf(data)), name);
      return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    },
  };
  const webcrypto = { getRandomValues, randomUUID, subtle };
  module.exports = {
    createHash, createHmac, randomBytes, randomFillSync, randomInt, randomUUID, timingSafeEqual, getRandomValues, subtle, webcrypto,
    pseudoRandomBytes: randomBytes,
    randomFill: (target, callback) => later(callback, () => randomFillSync(target)),
    hash: (algorithm, data, name = 'hex') => createHash(algorithm).update(data).digest(name),
    getHashes: () => ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'],
  };
})
