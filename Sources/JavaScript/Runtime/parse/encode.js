// Values of fields as JSON, and back.
(function (internal, module) {
  'use strict';
  const { GeoPoint, Polygon, ACL } = internal('parse/values');

  const isPlain = value => value !== null && typeof value === 'object' && !Array.isArray(value);

  // `seen` are the objects above: one of these again, one with changes or without data becomes a pointer.
  function encode(value, disallowObjects = false, forcePointers = false, seen = []) {
    if (value === null || typeof value !== 'object') {
      if (typeof value === 'function' && value.className) throw new Error(`a class (${value.className}) is no value`);
      return value;
    }
    if (isBare(value)) return encodeMembers(value, disallowObjects, forcePointers, seen);
    const ParseObject = internal('parse/object');
    if (value instanceof ParseObject) {
      if (disallowObjects) throw new Error('Parse Objects not allowed here');
      const self = value.id ? `${value.className}:${value.id}` : value;
      if (forcePointers || seen.includes(self) || value.dirty() || !value.isDataAvailable()) return value.toPointer();
      return value._toFullJSON(seen.concat([self]));
    }
    if (value instanceof internal('parse/file') && !value.url()) throw new Error('Tried to encode an unsaved file.');
    if (isValue(value) || value instanceof internal('parse/ops').Op) return value.toJSON();
    if (value instanceof Date) {
      if (Number.isNaN(value.getTime())) throw new Error('Tried to encode an invalid date.');
      return { __type: 'Date', iso: value.toJSON() };
    }
    if (value instanceof RegExp) return value.source;
    if (Array.isArray(value)) return value.map(one => encode(one, disallowObjects, forcePointers, seen));
    return encodeMembers(value, disallowObjects, forcePointers, seen);
  }

  function encodeMembers(value, disallowObjects, forcePointers, seen) {
    const result = {};
    for (const key of Object.keys(value)) result[key] = encode(value[key], disallowObjects, forcePointers, seen);
    return result;
  }

  // Of no class: most values are.
  const isBare = value => Object.getPrototypeOf(value) === Object.prototype;

  function isValue(value) {
    return value instanceof GeoPoint || value instanceof Polygon || value instanceof ACL
      || value instanceof internal('parse/relation') || value instanceof internal('parse/file');
  }

  function decode(value) {
    if (value === null || typeof value !== 'object') return value;
    if (!isBare(value)) {
      if (isValue(value) || value instanceof Date) return value;
      if (value instanceof internal('parse/object') || value instanceof internal('parse/ops').Op) return value;
    }
    if (Array.isArray(value)) return value.map(decode);
    if (typeof value.__op === 'string') return internal('parse/ops').fromJSON(value);
    switch (value.__type) {
      case 'Pointer':
      case 'Object':
        if (value.className) return internal('parse/object').fromJSON(value);
        break;
      case 'Relation': return new (internal('parse/relation'))(null, null, value.className);
      case 'Date': return new Date(value.iso);
      case 'File': return internal('parse/file').fromJSON(value);
      case 'GeoPoint': return new GeoPoint(value.latitude, value.longitude);
      case 'Polygon': return new Polygon(value.coordinates);
      default:
    }
    const result = {};
    for (const key of Object.keys(value)) result[key] = decode(value[key]);
    return result;
  }

  // Whether two values are the same as fields: objects by their ids.
  function equals(one, other) {
    if (one === other || (one !== one && other !== other)) return true;
    if (!isPlainOrList(one) || !isPlainOrList(other)) return false;
    const ParseObject = internal('parse/object');
    if (one instanceof ParseObject || other instanceof ParseObject || isValue(one) || isValue(other)) {
      return typeof one.equals === 'function' && one.equals(other);
    }
    if (one instanceof Date || other instanceof Date) {
      return one instanceof Date && other instanceof Date && one.getTime() === other.getTime();
    }
    if (Array.isArray(one) !== Array.isArray(other)) return false;
    const keys = Object.keys(one);
    return keys.length === Object.keys(other).length && keys.every(key => Object.hasOwn(other, key) && equals(one[key], other[key]));
  }
  const isPlainOrList = value => isPlain(value) || Array.isArray(value);

  module.exports = { encode, decode, equals, isPlain, isValue };
})
