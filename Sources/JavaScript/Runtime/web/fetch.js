// fetch with its Headers, Request, Response, FormData and Blob. Bodies are whole, never streams.
(function (internal, module, host) {
  'use strict';
  const turn = internal('turn');
  const { encode, decode, view } = internal('web/encoding');
  const { URLSearchParams, URL } = internal('web/url');
  const waiting = new Map();
  const redirects = 20;
  const patience = 30000;
  let last = 0;

  class Headers {
    #lines = new Map();
    constructor(init) {
      if (!init) return;
      const pairs = typeof init[Symbol.iterator] === 'function' ? init : Object.entries(init);
      for (const [name, value] of pairs) this.append(name, value);
    }
    #check(name) {
      const plain = String(name).toLowerCase();
      if (!/^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(plain)) throw new TypeError(`"${name}" is not the name of a header`);
      return plain;
    }
    append(name, value) {
      const plain = this.#check(name);
      const text = String(value).trim();
      if (/[\0\r\n]/.test(text)) throw new TypeError(`the header ${name} holds a line break`);
      this.#lines.set(plain, [...(this.#lines.get(plain) || []), text]);
    }
    set(name, value) { this.#lines.delete(this.#check(name)); this.append(name, value); }
    get(name) { const list = this.#lines.get(this.#check(name)); return list ? list.join(', ') : null; }
    has(name) { return this.#lines.has(this.#check(name)); }
    delete(name) { this.#lines.delete(this.#check(name)); }
    getSetCookie() { return this.#lines.get('set-cookie') || []; }
    forEach(body, self) { for (const [name, value] of this) body.call(self, value, name, this); }
    *entries() { for (const name of [...this.#lines.keys()].sort()) yield [name, this.get(name)]; }
    *keys() { for (const [name] of this) yield name; }
    *values() { for (const [, value] of this) yield value; }
    [Symbol.iterator]() { return this.entries(); }
  }

  class Blob {
    #bytes;
    constructor(parts = [], { type = '' } = {}) {
      const all = [...parts].map(part => (part instanceof Blob ? part.#bytes : typeof part === 'string' ? encode(part) : view(part)));
      this.#bytes = new Uint8Array(all.reduce((sum, one) => sum + one.length, 0));
      let at = 0;
      for (const one of all) {
        this.#bytes.set(one, at);
        at += one.length;
      }
      this.type = type.toLowerCase();
    }
    get size() { return this.#bytes.length; }
    async arrayBuffer() { return this.#bytes.slice().buffer; }
    async bytes() { return this.#bytes.slice(); }
    async text() { return decode(this.#bytes); }
    slice(start, end, type = '') { return new Blob([this.#bytes.slice(start, end)], { type }); }
    static bytesOf(blob) { return blob.#bytes; }
  }

  class FormData {
    #fields = [];
    append(name, value, filename) { this.#fields.push([String(name), value instanceof Blob ? value : String(value), filename]); }
    set(name, value, filename) { this.delete(name); this.append(name, value, filename); }
    get(name) { const field = this.#fields.find(one => one[0] === name); return field ? field[1] : null; }
    getAll(name) { return this.#fields.filter(one => one[0] === name).map(one => one[1]); }
    has(name) { return this.#fields.some(one => one[0] === name); }
    delete(name) { this.#fields = this.#fields.filter(one => one[0] !== name); }
    *entries() { for (const [name, value] of this.#fields) yield [name, value]; }
    [Symbol.iterator]() { return this.entries(); }
    // As multipart/form-data: its bytes and its type.
    static written(form) {
      const boundary = `hermes-${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;
      const quoted = text => `"${String(text).replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')}"`;
      const parts = form.#fields.flatMap(([name, value, filename]) => {
        const isFile = value instanceof Blob;
        const head = `--${boundary}\r\nContent-Disposition: form-data; name=${quoted(name)}`
          + (isFile ? `; filename=${quoted(filename || 'blob')}\r\nContent-Type: ${value.type || 'application/octet-stream'}` : '');
        return [`${head}\r\n\r\n`, value, '\r\n'];
      });
      const blob = new Blob([...parts, `--${boundary}--\r\n`]);
      return { bytes: Blob.bytesOf(blob), type: `multipart/form-data; boundary=${boundary}` };
    }
  }

  // The bytes of a body and the type that goes with them.
  function extract(body) {
    if (body === undefined || body === null) return { bytes: undefined };
    if (typeof body === 'string') return { bytes: encode(body), type: 'text/plain;charset=UTF-8' };
    if (body instanceof URLSearchParams) {
      return { bytes: encode(body.toString()), type: 'application/x-www-form-urlencoded;charset=UTF-8' };
    }
    if (body instanceof FormData) return FormData.written(body);
    if (body instanceof Blob) return { bytes: Blob.bytesOf(body), type: body.type || undefined };
    if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return { bytes: view(body) };
    return { bytes: encode(String(body)), type: 'text/plain;charset=UTF-8' };
  }

  class Body {
    #bytes;
    constructor(bytes) { this.#bytes = bytes; this.bodyUsed = false; }
    #take() {
      if (this.bodyUsed) throw new TypeError('the body has been read already');
      this.bodyUsed = true;
      return this.#bytes || new Uint8Array(0);
    }
    get rawBody() { return this.#bytes; }
    async text() { return new TextDecoder().decode(this.#take()); }
    async json() { return JSON.parse(await this.text()); }
    async bytes() { return this.#take().slice(); }
    async arrayBuffer() { return (await this.bytes()).buffer; }
    async blob() { return new Blob([this.#take()], { type: this.headers.get('content-type') || '' }); }
  }

  class Request extends Body {
    constructor(input, options = {}) {
      const from = input instanceof Request ? input : undefined;
      const body = 'body' in options ? extract(options.body) : { bytes: from && from.rawBody };
      super(body.bytes);
      this.url = from ? from.url : new URL(String(input)).href;
      this.method = String(options.method || (from ? from.method : 'GET'));
      if (/^(get|head|post|put|delete|options)$/i.test(this.method)) this.method = this.method.toUpperCase();
      this.headers = new Headers(options.headers || (from && from.headers));
      this.redirect = options.redirect || (from ? from.redirect : 'follow');
      this.signal = options.signal || (from && from.signal) || new AbortController().signal;
      this.timeout = options.timeout;
      if (body.bytes && (this.method === 'GET' || this.method === 'HEAD')) throw new TypeError(`${this.method} can not have a body`);
      if (body.type && !this.headers.has('content-type')) this.headers.set('content-type', body.type);
    }
    clone() { return new Request(this); }
  }

  class Response extends Body {
    constructor(body, { status = 200, statusText = '', headers } = {}) {
      const { bytes, type } = extract(body);
      super(bytes);
      this.status = status;
      this.statusText = statusText;
      this.headers = new Headers(headers);
      if (type && !this.headers.has('content-type')) this.headers.set('content-type', type);
      this.url = '';
      this.redirected = false;
      this.type = 'default';
    }
    get ok() { return this.status >= 200 && this.status < 300; }
    clone() {
      const copy = new Response(this.rawBody, this);
      copy.url = this.url;
      return copy;
    }
    static json(value, options = {}) {
      const headers = new Headers(options.headers);
      if (!headers.has('content-type')) headers.set('content-type', 'application/json');
      return new Response(JSON.stringify(value), { ...options, headers });
    }
    static error() { return new Response(null, { status: 500 }); }
  }

  function fetch(input, options) {
    return new Promise((resolve, reject) => {
      const request = new Request(input, options);
      if (request.signal.aborted) throw request.signal.reason;
      const number = ++last;
      const abort = () => {
        if (!waiting.delete(number)) return;
        host.cancelFetch(number);
        reject(request.signal.reason);
      };
      request.signal.addEventListener('abort', abort, { once: true });
      if (!request.headers.has('accept')) request.headers.set('accept', '*/*');
      if (!request.headers.has('user-agent')) request.headers.set('user-agent', 'hermes');
      waiting.set(number, { resolve, reject, request });
      const headers = [...request.headers].map(([name, value]) => `${name}\n${value}`).join('\n');
      const follow = request.redirect === 'follow' ? redirects : 0;
      host.fetch(number, turn.owner, request.method, request.url, headers, request.rawBody, request.timeout || patience, follow);
    });
  }

  // The host has an answer: its status and headers, or 0 and what went wrong.
  function fetched(number, status, text, bytes) {
    const { resolve, reject, request } = waiting.get(number) || {};
    if (!waiting.delete(number)) return;
    if (status === 0) {
      const cause = Object.assign(new Error(text), { code: text === 'timed out' ? 'ETIMEDOUT' : 'ECONNREFUSED' });
      reject(new TypeError('fetch failed', { cause }));
      return;
    }
    if (request.redirect === 'error' && status >= 300 && status < 400 && status !== 304) {
      reject(new TypeError('fetch failed', { cause: new Error('unexpected redirect') }));
      return;
    }
    const lines = text === '' ? [] : text.split('\n');
    const headers = new Headers();
    for (let i = 0; i + 1 < lines.length; i += 2) headers.append(lines[i], lines[i + 1]);
    const response = new Response(null, { status, headers });
    resolve(Object.assign(new Response(bytes.length > 0 ? bytes : null, { status, headers: response.headers }), { url: request.url }));
  }

  module.exports = { fetch, fetched, Headers, Request, Response, FormData, Blob };
})
