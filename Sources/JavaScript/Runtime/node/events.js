// Node's EventEmitter.
(function (internal, module) {
  'use strict';

  // A function and not a class: old packages call it on objects of their own.
  function EventEmitter() {}
  const listeners = Symbol('listeners');
  const of = (emitter, name) => {
    if (!Object.hasOwn(emitter, listeners)) emitter[listeners] = new Map();
    return emitter[listeners].get(name) || [];
  };

  function add(emitter, name, listener, first, once = false) {
    if (typeof listener !== 'function') throw new TypeError('The "listener" argument must be of type function');
    const list = of(emitter, name);
    if (name !== 'newListener' && of(emitter, 'newListener').length > 0) emitter.emit('newListener', name, listener);
    const entry = { listener, once };
    emitter[listeners].set(name, first ? [entry, ...list] : [...list, entry]);
    return emitter;
  }

  Object.assign(EventEmitter.prototype, {
    on(name, listener) { return add(this, name, listener, false); },
    addListener(name, listener) { return add(this, name, listener, false); },
    prependListener(name, listener) { return add(this, name, listener, true); },
    once(name, listener) { return add(this, name, listener, false, true); },
    prependOnceListener(name, listener) { return add(this, name, listener, true, true); },
    off(name, listener) {
      const list = of(this, name);
      const index = list.findLastIndex(entry => entry.listener === listener);
      if (index >= 0) {
        this[listeners].set(name, list.toSpliced(index, 1));
        if (of(this, 'removeListener').length > 0) this.emit('removeListener', name, listener);
      }
      return this;
    },
    removeListener(name, listener) { return this.off(name, listener); },
    removeAllListeners(name) {
      of(this, name);
      if (name === undefined) this[listeners].clear(); else this[listeners].delete(name);
      return this;
    },
    emit(name, ...values) {
      const list = of(this, name);
      if (list.length === 0) {
        if (name !== 'error') return false;
        throw values[0] instanceof Error ? values[0] : new Error(`Unhandled error. (${String(values[0])})`);
      }
      for (const entry of list) {
        if (entry.once) this.off(name, entry.listener);
        entry.listener.apply(this, values);
      }
      return true;
    },
    listeners(name) { return of(this, name).map(entry => entry.listener); },
    rawListeners(name) { return of(this, name).map(entry => entry.listener); },
    listenerCount(name) { return of(this, name).length; },
    eventNames() { of(this, ''); return [...this[listeners].keys()].filter(name => of(this, name).length > 0); },
    setMaxListeners() { return this; },
    getMaxListeners() { return 10; },
  });
  EventEmitter.defaultMaxListeners = 10;
  EventEmitter.EventEmitter = EventEmitter;
  EventEmitter.once = (emitter, name) => new Promise((resolve, reject) => {
    const fail = error => { emitter.off(name, done); reject(error); };
    const done = (...values) => { emitter.off('error', fail); resolve(values); };
    emitter.once(name, done);
    if (name !== 'error') emitter.once('error', fail);
  });
  module.exports = EventEmitter;
})
