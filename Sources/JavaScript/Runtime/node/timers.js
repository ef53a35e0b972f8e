// Timers. A timer belongs to the call in which it was set.
(function (internal, module, host) {
  'use strict';
  const turn = internal('turn');
  const set = new Map();
  let last = 0;

  class Timeout {
    constructor(number) { this.number = number; }
    ref() { return this; }
    unref() { return this; }
    hasRef() { return true; }
    refresh() {
      const timer = set.get(this.number);
      if (timer) host.setTimer(this.number, timer.time, timer.owner);
      return this;
    }
    close() { clear(this); }
    [Symbol.toPrimitive]() { return this.number; }
  }

  function start(callback, time, repeats, values) {
    if (typeof callback !== 'function') throw new TypeError('a timer needs a function');
    const number = ++last;
    const timer = { callback, values, repeats, time: Number(time) || 0, owner: turn.owner };
    set.set(number, timer);
    host.setTimer(number, timer.time, timer.owner);
    return new Timeout(number);
  }

  function clear(timeout) {
    const number = timeout instanceof Timeout ? timeout.number : Number(timeout);
    const timer = set.get(number);
    if (set.delete(number)) host.clearTimer(number, timer.owner);
  }

  // The host says that a timer's time has come.
  function tick(number) {
    const timer = set.get(number);
    if (!timer) return;
    if (timer.repeats) host.setTimer(number, timer.time, timer.owner); else set.delete(number);
    timer.callback(...timer.values);
  }

  const settled = Promise.resolve();
  const raise = error => setTimeout(() => { throw error; }, 0);
  const queueMicrotask = callback => {
    if (typeof callback !== 'function') throw new TypeError('queueMicrotask needs a function');
    settled.then(() => callback()).catch(raise);
  };
  const setTimeout = (callback, time, ...values) => start(callback, time, false, values);
  const setInterval = (callback, time, ...values) => start(callback, time, true, values);
  const setImmediate = (callback, ...values) => start(callback, 0, false, values);
  const wait = time => new Promise(resolve => setTimeout(resolve, time));
  module.exports = {
    setTimeout, setInterval, setImmediate,
    clearTimeout: clear, clearInterval: clear, clearImmediate: clear,
    queueMicrotask,
    nextTick: (callback, ...values) => queueMicrotask(() => callback(...values)),
    promises: {
      setTimeout: (time, value) => wait(time).then(() => value),
      setImmediate: value => wait(0).then(() => value),
    },
    tick,
  };
})
