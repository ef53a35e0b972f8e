// The globals that cloud code takes for granted and that the language does not bring along.
(function (internal, module, host) {
  'use strict';
  const util = internal('node/util');
  const configuration = host.configuration();

  function define(globals) {
    for (const [name, value] of Object.entries(globals)) {
      Object.defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });
    }
  }

  const line = (level, values) => host.log(level, util.format(...values).toWellFormed());
  const counts = new Map();
  const clocks = new Map();
  const console = {
    log: (...values) => line('info', values),
    info: (...values) => line('info', values),
    warn: (...values) => line('warn', values),
    error: (...values) => line('error', values),
    debug: (...values) => line('debug', values),
    trace: (...values) => line('info', [util.format(...values), '\n' + new Error().stack]),
    dir: value => line('info', [util.inspect(value)]),
    table: value => line('info', [util.inspect(value)]),
    assert: (truth, ...values) => { if (!truth) line('error', ['Assertion failed', ...values]); },
    count: (name = 'default') => {
      counts.set(name, (counts.get(name) || 0) + 1);
      line('info', [`${name}: ${counts.get(name)}`]);
    },
    countReset: (name = 'default') => counts.delete(name),
    time: (name = 'default') => clocks.set(name, host.now()),
    timeLog: (name = 'default') => line('info', [`${name}: ${(host.now() - clocks.get(name)).toFixed(3)}ms`]),
    timeEnd: (name = 'default') => { console.timeLog(name); clocks.delete(name); },
    group: (...values) => line('info', values),
    groupCollapsed: (...values) => line('info', values),
    groupEnd: () => {},
  };

  const origin = host.now();
  const started = Date.now();
  const { nextTick } = internal('node/timers');
  const process = Object.assign(Object.create(internal('node/events').prototype), {
    env: { ...configuration.environment },
    argv: ['hermes', 'serve'],
    argv0: 'hermes',
    execArgv: [],
    pid: configuration.processId,
    platform: 'linux',
    arch: 'x64',
    title: 'hermes',
    version: 'v22.0.0',
    versions: { node: '22.0.0' },
    release: { name: 'hermes' },
    cwd: () => configuration.workingFolder,
    nextTick,
    uptime: () => (host.now() - origin) / 1000,
    hrtime: Object.assign(
      before => {
        const now = host.now() * 1e6;
        const time = [Math.floor(now / 1e9), Math.floor(now % 1e9)];
        if (!before) return time;
        const difference = (time[0] - before[0]) * 1e9 + time[1] - before[1];
        return [Math.floor(difference / 1e9), difference % 1e9];
      },
      { bigint: () => BigInt(Math.floor(host.now() * 1e6)) }),
    memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }),
    emitWarning: warning => line('warn', [warning]),
    exit: () => { throw new Error('process.exit: cloud code can not end the server'); },
    stdout: { write: text => { line('info', [String(text).replace(/\n$/, '')]); return true; }, isTTY: false },
    stderr: { write: text => { line('error', [String(text).replace(/\n$/, '')]); return true; }, isTTY: false },
  });

  // By this name packages tell that they run on a server.
  Object.defineProperty(process, Symbol.toStringTag, { value: 'process', configurable: true });

  const encoding = internal('web/encoding');
  const timers = internal('node/timers');
  const { URL, URLSearchParams } = internal('web/url');
  const events = internal('web/abort');
  define({
    global: globalThis,
    console,
    process,
    performance: { now: () => host.now() - origin, timeOrigin: started, mark() {}, measure() {} },
    queueMicrotask: timers.queueMicrotask,
    setTimeout: timers.setTimeout, clearTimeout: timers.clearTimeout,
    setInterval: timers.setInterval, clearInterval: timers.clearInterval,
    setImmediate: timers.setImmediate, clearImmediate: timers.clearImmediate,
    structuredClone: internal('web/clone'),
    TextEncoder: encoding.TextEncoder, TextDecoder: encoding.TextDecoder,
    atob: encoding.atob, btoa: encoding.btoa,
    URL, URLSearchParams,
    Event: events.Event, EventTarget: events.EventTarget,
    AbortController: events.AbortController, AbortSignal: events.AbortSignal, DOMException: events.DOMException,
    Buffer: internal('node/buffer').Buffer,
    crypto: internal('node/crypto').webcrypto,
  });
  const web = internal('web/fetch');
  define({ fetch: web.fetch, Headers: web.Headers, Request: web.Request, Response: web.Response, FormData: web.FormData,
    Blob: web.Blob });
})
