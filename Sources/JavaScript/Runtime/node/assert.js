// Node's assert.
(function (internal, module) {
  'use strict';
  const { inspect, isDeepStrictEqual } = internal('node/util');

  class AssertionError extends Error {
    constructor({ message, actual, expected, operator }) {
      super(message || `${inspect(actual)} ${operator} ${inspect(expected)}`);
      this.name = 'AssertionError';
      this.code = 'ERR_ASSERTION';
      Object.assign(this, { actual, expected, operator, generatedMessage: !message });
    }
  }

  function check(truth, message, actual, expected, operator) {
    if (truth) return;
    if (message instanceof Error) throw message;
    throw new AssertionError({ message, actual, expected, operator });
  }

  // Equal as `==` says, at any depth.
  function looselyEqual(one, other) {
    if (one == other || (one !== one && other !== other)) return true; // eslint-disable-line eqeqeq
    if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
    if (one instanceof Date && other instanceof Date) return one.getTime() === other.getTime();
    if (one instanceof Map || one instanceof Set || ArrayBuffer.isView(one)) return isDeepStrictEqual(one, other);
    const keys = Object.keys(one);
    return Array.isArray(one) === Array.isArray(other) && keys.length === Object.keys(other).length
      && keys.every(key => Object.hasOwn(other, key) && looselyEqual(one[key], other[key]));
  }

  function matches(error, expected) {
    if (expected === undefined) return true;
    if (expected instanceof RegExp) return expected.test(String(error));
    if (typeof expected === 'function') {
      if (expected.prototype !== undefined && error instanceof expected) return true;
      return Error.isPrototypeOf(expected) ? false : expected.call({}, error) === true;
    }
    return Object.keys(expected).every(key => (expected[key] instanceof RegExp && typeof error[key] === 'string'
      ? expected[key].test(error[key]) : isDeepStrictEqual(error[key], expected[key])));
  }

  const assert = (value, message) => check(value, message, value, true, '==');
  Object.assign(assert, {
    AssertionError,
    ok: (value, message) => check(value, message, value, true, '=='),
    equal: (one, other, message) => check(one == other || (one !== one && other !== other), message, one, other, '=='), // eslint-disable-line eqeqeq
    notEqual: (one, other, message) => check(one != other, message, one, other, '!='), // eslint-disable-line eqeqeq
    strictEqual: (one, other, message) => check(Object.is(one, other), message, one, other, '==='),
    notStrictEqual: (one, other, message) => check(!Object.is(one, other), message, one, other, '!=='),
    deepEqual: (one, other, message) => check(looselyEqual(one, other), message, one, other, 'deepEqual'),
    notDeepEqual: (one, other, message) => check(!looselyEqual(one, other), message, one, other, 'notDeepEqual'),
    deepStrictEqual: (one, other, message) => check(isDeepStrictEqual(one, other), message, one, other, 'deepStrictEqual'),
    notDeepStrictEqual: (one, other, message) => check(!isDeepStrictEqual(one, other), message, one, other, 'notDeepStrictEqual'),
    match: (text, expression, message) => check(expression.test(text), message, text, expression, 'match'),
    doesNotMatch: (text, expression, message) => check(!expression.test(text), message, text, expression, 'doesNotMatch'),
    fail: message => check(false, message || 'Failed', undefined, undefined, 'fail'),
    ifError: error => { if (error !== null && error !== undefined) throw error; },
    throws(body, expected, message) {
      try { body(); } catch (error) {
        if (typeof expected !== 'string' && !matches(error, expected)) throw error;
        return;
      }
      check(false, typeof expected === 'string' ? expected : message || 'Missing expected exception.', undefined, expected, 'throws');
    },
    doesNotThrow: body => { body(); },
    async rejects(body, expected, message) {
      try { await (typeof body === 'function' ? body() : body); } catch (error) {
        if (typeof expected !== 'string' && !matches(error, expected)) throw error;
        return;
      }
      check(false, typeof expected === 'string' ? expected : message || 'Missing expected rejection.', undefined, expected, 'rejects');
    },
    async doesNotReject(body) { await (typeof body === 'function' ? body() : body); },
  });
  assert.strict = Object.assign((value, message) => assert(value, message), assert, {
    equal: assert.strictEqual, notEqual: assert.notStrictEqual,
    deepEqual: assert.deepStrictEqual, notDeepEqual: assert.notDeepStrictEqual,
  });
  assert.strict.strict = assert.strict;
  module.exports = assert;
})
