// Parse.Config: the application's settings, as the server keeps them.
(function (internal, module) {
  'use strict';
  const { encode, decode } = internal('parse/encode');
  const rest = internal('parse/rest');
  let last;

  class Config {
    constructor(attributes = {}) { this.attributes = attributes; }
    get(name) { return this.attributes[name]; }
    escape(name) { return internal('parse/object').prototype.escape.call({ get: () => this.attributes[name] }, name); }
    toJSON() { return encode(this.attributes); }
    static current() { return last || new Config(); }
    static async get(options) {
      const { params } = await rest.request('GET', 'config', {}, options);
      last = new Config(decode(params || {}));
      return last;
    }
    static async save(attributes, masterKeyOnly = {}) {
      await rest.request('PUT', 'config', { params: encode(attributes), masterKeyOnly }, { useMasterKey: true });
      return Config.get({ useMasterKey: true });
    }
    static _fromJSON(json) { return new Config(decode(json)); }
    static get className() { return '@Config'; }
  }
  module.exports = Config;
})
