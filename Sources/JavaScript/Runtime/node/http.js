// Node's http and https as clients, over fetch: a request goes out when it has ended, its answer comes whole.
(function (internal, module) {
  'use strict';
  const { Readable, Writable } = internal('node/stream');
  const EventEmitter = internal('node/events');
  const { Buffer } = internal('node/buffer');
  const { nextTick } = internal('node/timers');
  // What the connection decides by itself.
  const unsent = ['accept-encoding', 'connection', 'content-length', 'host', 'transfer-encoding'];
  const STATUS_CODES = Object.fromEntries(('200 OK,201 Created,202 Accepted,204 No Content,206 Partial Content,301 Moved Permanently,302 Found,'
    + '303 See Other,304 Not Modified,307 Temporary Redirect,308 Permanent Redirect,400 Bad Request,401 Unauthorized,402 Payment Required,'
    + '403 Forbidden,404 Not Found,405 Method Not Allowed,406 Not Acceptable,408 Request Timeout,409 Conflict,410 Gone,412 Precondition Failed,'
    + '413 Payload Too Large,415 Unsupported Media Type,418 I\'m a Teapot,422 Unprocessable Entity,429 Too Many Requests,'
    + '500 Internal Server Error,501 Not Implemented,502 Bad Gateway,503 Service Unavailable,504 Gateway Timeout')
    .split(',').map(line => [line.slice(0, 3), line.slice(4)]));

  class IncomingMessage extends Readable {
    constructor(response, socket) {
      super();
      this.statusCode = response.status;
      this.statusMessage = STATUS_CODES[response.status] || '';
      this.httpVersion = '1.1';
      this.rawHeaders = [...response.headers].flat();
      this.headers = {};
      for (const [name, value] of response.headers) {
        if (name === 'set-cookie') (this.headers[name] ||= []).push(value); else this.headers[name] = value;
      }
      this.trailers = {};
      this.complete = true;
      this.socket = this.connection = socket;
    }
    setTimeout() { return this; }
  }

  class ClientRequest extends Writable {
    #headers = new Map();
    #body = [];
    #abort = new AbortController();
    #timer;
    constructor(scheme, options, answered) {
      super();
      const host = options.hostname || String(options.host || 'localhost').replace(/:\d+$/, '');
      const port = options.port || (/:(\d+)$/.exec(options.hostname ? '' : options.host || '') || [])[1];
      this.method = String(options.method || 'GET').toUpperCase();
      this.protocol = options.protocol || scheme;
      this.host = host;
      this.path = options.path || '/';
      this.url = `${this.protocol}//${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}${port ? `:${port}` : ''}${this.path}`;
      this.aborted = false;
      const headers = options.headers || {};
      for (const [name, value] of typeof headers[Symbol.iterator] === 'function' ? headers : Object.entries(headers)) this.setHeader(name, value);
      if (options.auth && !this.hasHeader('authorization')) this.setHeader('Authorization', `Basic ${Buffer.from(options.auth).toString('base64')}`);
      if (answered) this.once('response', answered);
      if (options.timeout) this.setTimeout(options.timeout);
      if (options.signal) options.signal.addEventListener('abort', () => this.destroy(options.signal.reason), { once: true });
      this.socket = this.connection = Object.assign(new EventEmitter(), { remoteAddress: host, encrypted: this.protocol === 'https:',
        connecting: false, destroyed: false });
      for (const name of ['setKeepAlive', 'setNoDelay', 'setTimeout', 'ref', 'unref', 'destroy']) this.socket[name] = () => this.socket;
      nextTick(() => this.emit('socket', this.socket));
    }
    setHeader(name, value) { if (value !== undefined && value !== null) this.#headers.set(name.toLowerCase(), [name, value]); return this; }
    getHeader(name) { return (this.#headers.get(name.toLowerCase()) || [])[1]; }
    hasHeader(name) { return this.#headers.has(name.toLowerCase()); }
    removeHeader(name) { this.#headers.delete(name.toLowerCase()); }
    getHeaders() { return Object.fromEntries([...this.#headers].map(([name, [, value]]) => [name, value])); }
    getHeaderNames() { return [...this.#headers.keys()]; }
    flushHeaders() {}
    setNoDelay() {}
    setSocketKeepAlive() {}
    setTimeout(milliseconds, told) {
      clearTimeout(this.#timer);
      if (told) this.once('timeout', told);
      if (milliseconds > 0) this.#timer = setTimeout(() => this.emit('timeout'), milliseconds);
      return this;
    }
    abort() {
      if (this.aborted) return;
      this.aborted = true;
      nextTick(() => this.emit('abort'));
      this.destroy();
    }

    _write(chunk, encoding, done) { this.#body.push(chunk); done(); }
    _final(done) {
      done();
      this.#send();
    }
    _destroy(error, done) {
      clearTimeout(this.#timer);
      if (!this.res) this.#abort.abort();
      done(error || (this.res ? undefined : Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })));
    }
    async #send() {
      const headers = [...this.#headers.values()].filter(([name]) => !unsent.includes(name.toLowerCase()))
        .flatMap(([name, value]) => [].concat(value).map(one => [name, String(one)]));
      const bytes = Buffer.concat(this.#body);
      let response;
      let body;
      try {
        response = await fetch(this.url, { method: this.method, headers, body: bytes.length > 0 ? bytes : undefined, redirect: 'manual',
          signal: this.#abort.signal });
        body = await response.bytes();
      } catch (error) {
        if (!this.destroyed) this.destroy(error.cause || error);
        return;
      }
      if (this.destroyed) return;
      clearTimeout(this.#timer);
      this.res = new IncomingMessage(response, this.socket);
      this.res.req = this;
      this.res.once('close', () => this.destroy());
      if (!this.emit('response', this.res)) this.res.resume();
      if (body.length > 0) this.res.push(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
      this.res.push(null);
    }
    // The answer is still to come when all is written.
    get _staysOpen() { return true; }
  }

  class Agent extends EventEmitter {
    constructor(options = {}) { super(); this.options = options; this.sockets = {}; this.requests = {}; this.maxSockets = options.maxSockets || Infinity; }
    destroy() {}
  }
  const notServed = () => { throw new Error('cloud code can not listen: http.createServer is not there'); };

  function clientOf(scheme) {
    const request = (...given) => {
      const answered = typeof given.at(-1) === 'function' ? given.pop() : undefined;
      const options = {};
      for (const one of given) {
        if (typeof one === 'string' || one instanceof URL) {
          const url = new URL(String(one));
          Object.assign(options, { protocol: url.protocol, hostname: url.hostname, port: url.port, path: url.pathname + url.search });
          if (url.username) options.auth = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
        } else Object.assign(options, one);
      }
      if (options.protocol && !/^https?:$/.test(options.protocol)) {
        throw Object.assign(new TypeError(`Protocol "${options.protocol}" not supported`), { code: 'ERR_INVALID_PROTOCOL' });
      }
      return new ClientRequest(scheme, options, answered);
    };
    return {
      request,
      get: (...given) => request(...given).end(),
      Agent, globalAgent: new Agent(), ClientRequest, IncomingMessage, STATUS_CODES, createServer: notServed, maxHeaderSize: 16_384,
      METHODS: ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT'],
    };
  }
  module.exports = { http: clientOf('http:'), https: clientOf('https:') };
})
