// Values of fields that are no objects of their own: places, areas, permissions.
(function (internal, module) {
  'use strict';

  class GeoPoint {
    #latitude = 0;
    #longitude = 0;
    constructor(first, second) {
      let [latitude, longitude] = [first, second];
      if (Array.isArray(first)) [latitude, longitude] = first;
      else if (first !== null && typeof first === 'object') ({ latitude, longitude } = first);
      else if (first === undefined && second === undefined) [latitude, longitude] = [0, 0];
      check(latitude, longitude);
      this.#latitude = latitude;
      this.#longitude = longitude;
    }
    get latitude() { return this.#latitude; }
    set latitude(value) { check(value, this.#longitude); this.#latitude = value; }
    get longitude() { return this.#longitude; }
    set longitude(value) { check(this.#latitude, value); this.#longitude = value; }
    toJSON() { return { __type: 'GeoPoint', latitude: this.latitude, longitude: this.longitude }; }
    equals(other) { return other instanceof GeoPoint && this.latitude === other.latitude && this.longitude === other.longitude; }
    // The haversine formula.
    radiansTo(other) {
      const radians = degrees => (degrees * Math.PI) / 180;
      const lat = Math.sin(radians(this.latitude - other.latitude) / 2);
      const lon = Math.sin(radians(this.longitude - other.longitude) / 2);
      const a = lat * lat + Math.cos(radians(this.latitude)) * Math.cos(radians(other.latitude)) * lon * lon;
      return 2 * Math.asin(Math.sqrt(Math.min(1, a)));
    }
    kilometersTo(other) { return this.radiansTo(other) * 6371; }
    milesTo(other) { return this.radiansTo(other) * 3958.8; }
    static current() { return Promise.reject(new Error('GeoPoint.current: a server is nowhere')); }
  }
  function check(latitude, longitude) {
    const isNumber = value => typeof value === 'number' && !Number.isNaN(value);
    if (!isNumber(latitude) || !isNumber(longitude)) throw new TypeError('GeoPoint latitude and longitude must be valid numbers');
    if (latitude < -90 || latitude > 90) throw new TypeError(`GeoPoint latitude out of bounds: ${latitude}.`);
    if (longitude < -180 || longitude > 180) throw new TypeError(`GeoPoint longitude out of bounds: ${longitude}.`);
  }

  class Polygon {
    #coordinates;
    constructor(coordinates) { this.#coordinates = Polygon.#checked(coordinates); }
    get coordinates() { return this.#coordinates; }
    set coordinates(value) { this.#coordinates = Polygon.#checked(value); }
    static #checked(coordinates) {
      if (!Array.isArray(coordinates)) throw new TypeError('Coordinates must be an Array');
      if (coordinates.length < 3) throw new TypeError('Polygon must have at least 3 GeoPoints or Points');
      return coordinates.map(one => {
        const point = one instanceof GeoPoint ? one : new GeoPoint(one[0], one[1]);
        return [point.latitude, point.longitude];
      });
    }
    toJSON() { return { __type: 'Polygon', coordinates: this.coordinates }; }
    equals(other) {
      return other instanceof Polygon && this.coordinates.length === other.coordinates.length
        && this.coordinates.every(([a, b], index) => other.coordinates[index][0] === a && other.coordinates[index][1] === b);
    }
    // Whether a line from the point crosses the border an odd number of times.
    containsPoint(point) {
      let inside = false;
      for (let i = 0, j = this.coordinates.length - 1; i < this.coordinates.length; j = i++) {
        const [xi, yi] = this.coordinates[i];
        const [xj, yj] = this.coordinates[j];
        if (yi > point.longitude !== yj > point.longitude
          && point.latitude < ((xj - xi) * (point.longitude - yi)) / (yj - yi) + xi) inside = !inside;
      }
      return inside;
    }
  }

  const everybody = '*';
  class ACL {
    constructor(init) {
      this.permissionsById = {};
      if (init === null || typeof init !== 'object') {
        if (typeof init === 'function') throw new TypeError('ParseACL constructed with a function. Did you forget ()?');
        return;
      }
      if (init instanceof internal('parse/user')) {
        this.setReadAccess(init, true);
        this.setWriteAccess(init, true);
        return;
      }
      for (const [id, access] of Object.entries(init)) {
        this.permissionsById[id] = {};
        for (const permission of Object.keys(access)) {
          if (permission !== 'read' && permission !== 'write') throw new TypeError('Tried to create an ACL with an invalid permission type.');
          if (typeof access[permission] !== 'boolean') throw new TypeError('Tried to create an ACL with an invalid permission value.');
          this.permissionsById[id][permission] = access[permission];
        }
      }
    }
    toJSON() { return Object.fromEntries(Object.entries(this.permissionsById).map(([id, access]) => [id, { ...access }])); }
    equals(other) {
      if (!(other instanceof ACL)) return false;
      const ids = Object.keys(this.permissionsById);
      return ids.length === Object.keys(other.permissionsById).length && ids.every(id => {
        const [one, two] = [this.permissionsById[id], other.permissionsById[id]];
        return two !== undefined && one.read === two.read && one.write === two.write;
      });
    }
    #set(kind, who, allowed) {
      const id = ACL.#id(who);
      if (typeof allowed !== 'boolean') throw new TypeError('allowed must be either true or false.');
      const access = this.permissionsById[id];
      if (allowed) this.permissionsById[id] = { ...access, [kind]: true };
      else if (access) {
        delete access[kind];
        if (Object.keys(access).length === 0) delete this.permissionsById[id];
      }
    }
    #get(kind, who) { return Boolean((this.permissionsById[ACL.#id(who)] || {})[kind]); }
    static #id(who) {
      if (who instanceof internal('parse/user')) {
        if (!who.id) throw new Error('Cannot get access for a ParseUser without an id.');
        return who.id;
      }
      if (who instanceof internal('parse/accounts').Role) return ACL.#role(who);
      if (typeof who !== 'string') throw new TypeError('userId must be a string.');
      return who;
    }
    static #role(role) {
      const name = role instanceof internal('parse/accounts').Role ? role.getName() : role;
      if (typeof name !== 'string' || name === '') throw new TypeError('role must be a ParseRole or a String');
      return `role:${name}`;
    }
    setReadAccess(who, allowed) { this.#set('read', who, allowed); }
    getReadAccess(who) { return this.#get('read', who); }
    setWriteAccess(who, allowed) { this.#set('write', who, allowed); }
    getWriteAccess(who) { return this.#get('write', who); }
    setPublicReadAccess(allowed) { this.#set('read', everybody, allowed); }
    getPublicReadAccess() { return this.#get('read', everybody); }
    setPublicWriteAccess(allowed) { this.#set('write', everybody, allowed); }
    getPublicWriteAccess() { return this.#get('write', everybody); }
    setRoleReadAccess(role, allowed) { this.#set('read', ACL.#role(role), allowed); }
    getRoleReadAccess(role) { return this.#get('read', ACL.#role(role)); }
    setRoleWriteAccess(role, allowed) { this.#set('write', ACL.#role(role), allowed); }
    getRoleWriteAccess(role) { return this.#get('write', ACL.#role(role)); }
  }

  module.exports = { GeoPoint, Polygon, ACL };
})
