// Modules of Node that packages ask for when they are loaded, and seldom need: their names are there.
(function (internal, module) {
  'use strict';
  const { Buffer } = internal('node/buffer');
  const absent = (owner, names) => Object.fromEntries(names.map(name => [name, () => {
    throw new Error(`${owner}.${name} is not there: cloud code runs without Node`);
  }]));

  class StringDecoder {
    #decoder;
    constructor(encoding = 'utf8') {
      this.encoding = encoding;
      this.#decoder = /^utf-?8$/i.test(encoding) ? new TextDecoder() : undefined;
    }
    write(bytes) { return this.#decoder ? this.#decoder.decode(bytes, { stream: true }) : Buffer.from(bytes).toString(this.encoding); }
    end(bytes) { return (bytes ? this.write(bytes) : '') + (this.#decoder ? this.#decoder.decode() : ''); }
  }
  module.exports = {
    child_process: absent('child_process', ['exec', 'execFile', 'execSync', 'execFileSync', 'fork', 'spawn', 'spawnSync']),
    http2: { constants: {}, ...absent('http2', ['connect', 'createServer']) },
    string_decoder: { StringDecoder },
    tty: { isatty: () => false, ReadStream: class {}, WriteStream: class {} },
    zlib: {
      constants: { Z_NO_FLUSH: 0, Z_PARTIAL_FLUSH: 1, Z_SYNC_FLUSH: 2, Z_FULL_FLUSH: 3, Z_FINISH: 4, BROTLI_OPERATION_FLUSH: 1 },
      ...absent('zlib', ['createGzip', 'createGunzip', 'createDeflate', 'createInflate', 'createInflateRaw', 'createUnzip', 'gzip', 'gunzip',
        'gzipSync', 'gunzipSync', 'deflate', 'deflateSync', 'inflate', 'inflateSync', 'unzip', 'unzipSync', 'brotliCompressSync']),
    },
  };
})
