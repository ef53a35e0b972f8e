// Parse.File: a file of the server's store, by its name and address.
(function (internal, module) {
  'use strict';
  const ParseError = internal('parse/error');
  const { toBase64, fromBase64, view } = internal('web/encoding');

  class ParseFile {
    #name;
    #url;
    #data;
    #type;
    #metadata;
    #tags;
    // `data`: { base64 }, { uri }, bytes, or a list of numbers.
    constructor(name, data, type = '', metadata = {}, tags = {}) {
      this.#name = name;
      this.#type = type;
      this.#metadata = metadata || {};
      this.#tags = tags || {};
      if (data !== undefined) this.#data = ParseFile.#source(data);
    }
    static #source(data) {
      if (Array.isArray(data)) return { base64: toBase64(Uint8Array.from(data)) };
      if (ArrayBuffer.isView(data) || data instanceof ArrayBuffer) return { base64: toBase64(view(data)) };
      if (data && typeof data.base64 === 'string') {
        const [, type, base64] = /^data:([^;,]*)[^,]*,(.*)$/s.exec(data.base64) || [null, '', data.base64];
        return { base64, type };
      }
      if (data && typeof data.uri === 'string') return { uri: data.uri };
      throw new TypeError('Cannot create a Parse.File with that data.');
    }
    name() { return this.#name; }
    url(options) { return options && options.forceSecure && this.#url ? this.#url.replace(/^http:/, 'https:') : this.#url; }
    metadata() { return this.#metadata; }
    tags() { return this.#tags; }
    setMetadata(metadata) { if (metadata && typeof metadata === 'object') Object.keys(metadata).forEach(key => this.addMetadata(key, metadata[key])); }
    addMetadata(key, value) { if (typeof key === 'string') this.#metadata[key] = value; }
    setTags(tags) { if (tags && typeof tags === 'object') Object.keys(tags).forEach(key => this.addTag(key, tags[key])); }
    addTag(key, value) { if (typeof key === 'string') this.#tags[key] = value; }
    toJSON() { return { __type: 'File', name: this.#name, url: this.#url }; }
    equals(other) { return this === other || (other instanceof ParseFile && this.#name === other.name() && this.#url === other.url() && this.#url !== undefined); }
    cancel() {}

    async getData() {
      if (this.#data && this.#data.base64 !== undefined) return this.#data.base64;
      const source = this.#url || (this.#data && this.#data.uri);
      if (!source) throw new Error('Cannot retrieve data for unsaved ParseFile.');
      this.#data = { base64: await download(source) };
      return this.#data.base64;
    }
    async save(options = {}) {
      if (!this.#data) throw new ParseError(ParseError.FILE_SAVE_ERROR, 'the file has no data');
      const base64 = this.#data.base64 === undefined ? await download(this.#data.uri) : this.#data.base64;
      const rest = internal('parse/rest');
      const type = this.#type || this.#data.type;
      const body = { base64, fileData: { metadata: { ...this.#metadata }, tags: { ...this.#tags } } };
      if (type) body._ContentType = type;
      const answer = await rest.request('POST', `files/${rest.segment(this.#name)}`, body, options);
      this.#name = answer.name;
      this.#url = answer.url;
      this.#data = { base64 };
      return this;
    }
    async destroy(options = {}) {
      if (!this.#name) throw new ParseError(ParseError.FILE_DELETE_UNNAMED_ERROR, 'Cannot delete an unnamed file.');
      const rest = internal('parse/rest');
      await rest.request('DELETE', `files/${rest.segment(this.#name)}`, {}, { useMasterKey: true, ...options });
      this.#data = undefined;
      return this;
    }
    static fromJSON(json) {
      if (json.__type !== 'File') throw new TypeError('JSON object does not represent a ParseFile');
      const file = new ParseFile(json.name);
      file.#url = json.url;
      return file;
    }
    static encodeBase64(bytes) { return toBase64(view(bytes)); }
    static _bytes(base64) { return fromBase64(base64); }
  }

  async function download(url) {
    const answer = await fetch(url);
    if (!answer.ok) throw new ParseError(ParseError.FILE_READ_ERROR, `the file answered ${answer.status}`);
    return toBase64(await answer.bytes());
  }

  module.exports = ParseFile;
})
