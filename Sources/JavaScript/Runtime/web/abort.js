// Events and their targets, as far as AbortController needs them.
(function (internal, module) {
  'use strict';

  class DOMException extends Error {
    constructor(message = '', name = 'Error') {
      super(message);
      Object.defineProperty(this, 'name', { value: name, configurable: true });
    }
    get code() { return this.name === 'AbortError' ? 20 : this.name === 'TimeoutError' ? 23 : 0; }
  }

  class Event {
    constructor(type, options = {}) {
      this.type = String(type);
      this.cancelable = Boolean(options.cancelable);
      this.bubbles = Boolean(options.bubbles);
      this.defaultPrevented = false;
      this.target = null;
      this.timeStamp = Date.now();
    }
    preventDefault() { this.defaultPrevented = this.cancelable; }
    stopPropagation() {}
    stopImmediatePropagation() { this.stopped = true; }
  }

  class EventTarget {
    #listeners = new Map();
    addEventListener(type, listener, options = {}) {
      if (!listener) return;
      const list = this.#listeners.get(type) || [];
      if (!list.some(entry => entry.listener === listener)) list.push({ listener, once: Boolean(options && options.once) });
      this.#listeners.set(type, list);
    }
    removeEventListener(type, listener) {
      this.#listeners.set(type, (this.#listeners.get(type) || []).filter(entry => entry.listener !== listener));
    }
    dispatchEvent(event) {
      event.target = event.target || this;
      const direct = this[`on${event.type}`];
      if (typeof direct === 'function') direct.call(this, event);
      for (const entry of [...(this.#listeners.get(event.type) || [])]) {
        if (entry.once) this.removeEventListener(event.type, entry.listener);
        if (typeof entry.listener === 'function') entry.listener.call(this, event); else entry.listener.handleEvent(event);
        if (event.stopped) break;
      }
      return !event.defaultPrevented;
    }
  }

  class AbortSignal extends EventTarget {
    aborted = false;
    reason = undefined;
    onabort = null;
    throwIfAborted() { if (this.aborted) throw this.reason; }
    static abort(reason) {
      const signal = new AbortSignal();
      end(signal, reason);
      return signal;
    }
    static timeout(time) {
      const signal = new AbortSignal();
      setTimeout(() => end(signal, new DOMException('The operation timed out', 'TimeoutError')), time);
      return signal;
    }
    static any(signals) {
      const signal = new AbortSignal();
      for (const one of signals) {
        if (one.aborted) end(signal, one.reason); else one.addEventListener('abort', () => end(signal, one.reason), { once: true });
      }
      return signal;
    }
  }

  function end(signal, reason = new DOMException('This operation was aborted', 'AbortError')) {
    if (signal.aborted) return;
    signal.aborted = true;
    signal.reason = reason;
    signal.dispatchEvent(new Event('abort'));
  }

  class AbortController {
    signal = new AbortSignal();
    abort(reason) { end(this.signal, reason); }
  }

  module.exports = { DOMException, Event, EventTarget, AbortSignal, AbortController };
})
