// Parse.Schema: a class's fields, by the house's rights.
(function (internal, module) {
  'use strict';
  const rest = internal('parse/rest');
  const { encode } = internal('parse/encode');
  const house = { useMasterKey: true };
  const types = ['String', 'Number', 'Boolean', 'Bytes', 'Date', 'File', 'GeoPoint', 'Polygon', 'Array', 'Object', 'Pointer', 'Relation'];

  class Schema {
    constructor(className) {
      this.className = className;
      this._fields = {};
      this._indexes = {};
    }
    #request(method, body) { return rest.request(method, `schemas/${rest.segment(this.className)}`, body, house); }
    #body() {
      const body = { className: this.className, fields: this._fields, indexes: this._indexes };
      if (this._permissions) body.classLevelPermissions = this._permissions;
      return body;
    }
    #sent(answer) {
      this._fields = {};
      this._indexes = {};
      return answer;
    }
    get() { return this.#request('GET', {}); }
    async save() { return this.#sent(await this.#request('POST', this.#body())); }
    async update() { return this.#sent(await this.#request('PUT', this.#body())); }
    delete() { return this.#request('DELETE', {}); }
    purge() { return rest.request('DELETE', `purge/${rest.segment(this.className)}`, {}, house); }
    setCLP(permissions) { this._permissions = permissions; return this; }
    addField(name, type = 'String', options = {}) {
      if (!types.includes(type)) throw new Error(`${type} is not a valid type.`);
      this._fields[name] = { type, ...options, ...('defaultValue' in options ? { defaultValue: encode(options.defaultValue) } : {}) };
      return this;
    }
    addPointer(name, targetClass, options = {}) { this._fields[name] = { type: 'Pointer', targetClass, ...options }; return this; }
    addRelation(name, targetClass) { this._fields[name] = { type: 'Relation', targetClass }; return this; }
    addIndex(name, index) { this._indexes[name] = index; return this; }
    deleteField(name) { this._fields[name] = { __op: 'Delete' }; return this; }
    deleteIndex(name) { this._indexes[name] = { __op: 'Delete' }; return this; }
    static async all() { return (await rest.request('GET', 'schemas', {}, house)).results; }
  }
  for (const type of types.slice(0, 10)) Schema.prototype[`add${type}`] = function (name, options) { return this.addField(name, type, options); };
  module.exports = Schema;
})
