// Node's streams, for packages that bring bytes along in them. What is under way lies in memory.
(function (internal, module) {
  'use strict';
  const EventEmitter = internal('node/events');
  const { Buffer } = internal('node/buffer');
  const { nextTick } = internal('node/timers');
  const many = 16;

  // Functions and not classes: old packages call them on objects of their own, or forget to.
  const inherit = (child, parent, members) => {
    Object.setPrototypeOf(child, parent);
    child.prototype = Object.create(parent.prototype, { constructor: { value: child, writable: true, configurable: true } });
    Object.defineProperties(child.prototype, Object.getOwnPropertyDescriptors(members));
  };
  const bytesOf = (chunk, encoding) => (typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk);

  function Stream() {}
  inherit(Stream, EventEmitter, {
    pipe(target, options = {}) {
      this.on('data', chunk => { if (target.write(chunk) === false && this.pause) this.pause(); });
      target.on('drain', () => { if (this.resume) this.resume(); });
      if (options.end !== false) this.on('end', () => target.end());
      target.emit('pipe', this);
      return target;
    },
  });

  const destroying = {
    destroy(error) {
      if (this.destroyed) return this;
      this.destroyed = true;
      const done = fault => nextTick(() => {
        if (fault) this.emit('error', fault);
        this.emit('close');
      });
      if (this._destroy) this._destroy(error || null, done); else done(error);
      return this;
    },
  };

  // MARK: what is read

  const reading = stream => (Object.hasOwn(stream, '_readableState') ? stream._readableState : stream._readableState = {
    chunks: [], flowing: null, ended: false, endEmitted: false, asked: false, scheduled: false, decoder: undefined, objectMode: false,
  });
  const readable = {
    push(chunk, encoding) {
      const state = reading(this);
      state.asked = false;
      if (chunk === null) state.ended = true;
      else if (state.objectMode) state.chunks.push(chunk);
      else if (chunk !== undefined && chunk.length > 0) state.chunks.push(bytesOf(chunk, encoding));
      schedule(this);
      return state.chunks.length < many;
    },
    unshift(chunk) { reading(this).chunks.unshift(chunk); schedule(this); },
    read() {
      const state = reading(this);
      const chunk = state.chunks.length > 1 && !state.objectMode ? Buffer.concat(state.chunks.splice(0)) : state.chunks.shift();
      schedule(this);
      return chunk === undefined ? null : decoded(state, chunk);
    },
    on(name, listener) {
      EventEmitter.prototype.on.call(this, name, listener);
      if (name === 'data' && reading(this).flowing !== false) this.resume();
      if (name === 'readable') schedule(this);
      return this;
    },
    addListener(name, listener) { return this.on(name, listener); },
    resume() { reading(this).flowing = true; schedule(this); return this; },
    pause() { reading(this).flowing = false; return this; },
    isPaused() { return reading(this).flowing === false; },
    setEncoding(encoding) {
      const utf8 = /^utf-?8$/i.test(encoding) ? new TextDecoder() : undefined;
      reading(this).decoder = chunk => (typeof chunk === 'string' ? chunk : utf8 ? utf8.decode(chunk, { stream: true }) : Buffer.from(chunk).toString(encoding));
      return this;
    },
    unpipe() { this.removeAllListeners('data'); return this.pause(); },
    async *[Symbol.asyncIterator]() {
      const queue = [];
      let wake = () => {};
      const put = item => { queue.push(item); wake(); };
      this.on('data', value => put({ value })).once('end', () => put({ done: true })).once('error', error => put({ error }));
      for (;;) {
        if (queue.length === 0) await new Promise(resolve => { wake = resolve; });
        const { value, done, error } = queue.shift();
        if (error) throw error;
        if (done) return;
        yield value;
      }
    },
    get readableEnded() { return reading(this).endEmitted; },
    get readableFlowing() { return reading(this).flowing; },
    get readableLength() { return reading(this).chunks.length; },
    get readable() { return !this.destroyed && !reading(this).endEmitted; },
  };
  const decoded = (state, chunk) => (state.decoder ? state.decoder(chunk) : chunk);

  function schedule(stream) {
    const state = reading(stream);
    if (state.scheduled) return;
    state.scheduled = true;
    nextTick(() => {
      state.scheduled = false;
      if (!stream.destroyed) flow(stream, state);
    });
  }
  function flow(stream, state) {
    while (state.flowing && state.chunks.length > 0 && !stream.destroyed) stream.emit('data', decoded(state, state.chunks.shift()));
    if (!state.flowing && (state.chunks.length > 0 || state.ended) && stream.listenerCount('readable') > 0 && !state.endEmitted) stream.emit('readable');
    if (state.chunks.length === 0 && state.ended && !state.endEmitted && (state.flowing || stream.listenerCount('readable') > 0)) {
      state.endEmitted = true;
      stream.emit('end');
      if (!stream._writableState || stream._writableState.finished) nextTick(() => stream.destroy());
    } else if (!state.ended && !state.asked && state.chunks.length < many && (state.flowing || stream.listenerCount('readable') > 0)) {
      state.asked = true;
      stream._read(65_536);
    }
  }

  function Readable(options = {}) {
    Object.assign(reading(this), { objectMode: Boolean(options.objectMode || options.readableObjectMode) });
    if (options.read) this._read = options.read;
    if (options.destroy) this._destroy = options.destroy;
    if (options.encoding) this.setEncoding(options.encoding);
  }
  inherit(Readable, Stream, { ...destroying, destroyed: false, _read() {} });
  Object.defineProperties(Readable.prototype, Object.getOwnPropertyDescriptors(readable));
  Readable.from = (source, options) => {
    const stream = new Readable({ objectMode: true, ...options });
    const items = typeof source === 'string' || Buffer.isBuffer(source) ? [source] : source;
    (async () => {
      try {
        for await (const item of items) stream.push(item);
        stream.push(null);
      } catch (error) { stream.destroy(error); }
    })();
    return stream;
  };

  // MARK: what is written

  const writing = stream => (Object.hasOwn(stream, '_writableState') ? stream._writableState : stream._writableState = {
    waiting: [], busy: false, ending: false, finished: false, full: false, objectMode: false,
  });
  const writable = {
    write(chunk, encoding, done) {
      const state = writing(this);
      const [name, then] = typeof encoding === 'function' ? [undefined, encoding] : [encoding, done];
      if (state.ending || this.destroyed) {
        const error = Object.assign(new Error('write after end'), { code: 'ERR_STREAM_WRITE_AFTER_END' });
        nextTick(() => { if (then) then(error); this.emit('error', error); });
        return false;
      }
      state.waiting.push([state.objectMode ? chunk : bytesOf(chunk, name), then]);
      step(this, state);
      state.full ||= state.waiting.length >= many;
      return !state.full;
    },
    end(chunk, encoding, done) {
      const state = writing(this);
      const then = [chunk, encoding, done].find(one => typeof one === 'function');
      if (chunk !== undefined && chunk !== null && typeof chunk !== 'function') this.write(chunk, encoding);
      if (then) this.once('finish', then);
      state.ending = true;
      step(this, state);
      return this;
    },
    cork() {},
    uncork() {},
    setDefaultEncoding() { return this; },
    get writableEnded() { return writing(this).ending; },
    get writableFinished() { return writing(this).finished; },
    get writableLength() { return writing(this).waiting.length; },
    get writable() { return !this.destroyed && !writing(this).ending; },
  };

  function step(stream, state) {
    if (state.busy || state.finished || stream.destroyed) return;
    const next = state.waiting.shift();
    if (next) {
      state.busy = true;
      stream._write(next[0], 'buffer', error => {
        state.busy = false;
        if (next[1]) next[1](error);
        if (error) { stream.destroy(error); return; }
        nextTick(() => {
          if (state.full && state.waiting.length === 0) { state.full = false; stream.emit('drain'); }
          step(stream, state);
        });
      });
    } else if (state.ending) {
      state.finished = true;
      const finish = error => {
        if (error) { stream.destroy(error); return; }
        nextTick(() => {
          stream.emit('finish');
          if (!stream._staysOpen && (!stream._readableState || stream._readableState.endEmitted)) stream.destroy();
        });
      };
      if (stream._final) stream._final(finish); else finish();
    }
  }

  function Writable(options = {}) {
    Object.assign(writing(this), { objectMode: Boolean(options.objectMode || options.writableObjectMode) });
    for (const name of ['write', 'final', 'destroy']) if (options[name]) this[`_${name}`] = options[name];
  }
  inherit(Writable, Stream, { ...destroying, destroyed: false, _write(chunk, encoding, done) { done(); } });
  Object.defineProperties(Writable.prototype, Object.getOwnPropertyDescriptors(writable));

  // MARK: both

  function Duplex(options = {}) {
    Readable.call(this, options);
    Writable.call(this, options);
  }
  inherit(Duplex, Readable, { _write: Writable.prototype._write });
  Object.defineProperties(Duplex.prototype, Object.getOwnPropertyDescriptors(writable));
  Object.defineProperty(Writable, Symbol.hasInstance, {
    value(object) { return Function.prototype[Symbol.hasInstance].call(this, object) || (this === Writable && object instanceof Duplex); },
  });

  function Transform(options = {}) {
    Duplex.call(this, options);
    for (const name of ['transform', 'flush']) if (options[name]) this[`_${name}`] = options[name];
  }
  inherit(Transform, Duplex, {
    _write(chunk, encoding, done) {
      this._transform(chunk, encoding, (error, value) => {
        if (value !== undefined && value !== null) this.push(value);
        done(error);
      });
    },
    _final(done) {
      const end = (error, value) => {
        if (value !== undefined && value !== null) this.push(value);
        this.push(null);
        done(error);
      };
      if (this._flush) this._flush(end); else end();
    },
  });
  function PassThrough(options) { Transform.call(this, options); }
  inherit(PassThrough, Transform, { _transform(chunk, encoding, done) { done(null, chunk); } });

  // Calls once, when a stream has come to its end or has failed.
  function finished(stream, options, done = options) {
    let isDone = false;
    const end = error => { if (!isDone) { isDone = true; done(error); } };
    const isWritten = typeof stream.write === 'function';
    const isRead = typeof stream.read === 'function' && !(isWritten && options && options.readable === false);
    stream.once('error', end);
    stream.once(isRead && !isWritten ? 'end' : 'finish', () => end());
    stream.once('close', () => end(stream._readableState && isRead && !isWritten && !stream.readableEnded
      ? Object.assign(new Error('Premature close'), { code: 'ERR_STREAM_PREMATURE_CLOSE' }) : undefined));
    return () => { isDone = true; };
  }
  function pipeline(...streams) {
    const done = typeof streams.at(-1) === 'function' ? streams.pop() : () => {};
    const list = streams.flat();
    let failed = false;
    const fail = error => {
      if (failed || !error) return;
      failed = true;
      for (const stream of list) if (stream.destroy) stream.destroy();
      done(error);
    };
    for (const stream of list) stream.once('error', fail);
    finished(list.at(-1), error => { if (error) fail(error); else if (!failed) done(); });
    return list.reduce((source, target) => source.pipe(target));
  }
  const promised = body => (...given) => new Promise((resolve, reject) => { body(...given, error => { if (error) reject(error); else resolve(); }); });

  module.exports = Object.assign(Stream, { Stream, Readable, Writable, Duplex, Transform, PassThrough, finished, pipeline,
    promises: { finished: promised(finished), pipeline: promised(pipeline) } });
})
