// Parse.Object: what the server holds, and over it what is to be changed.
(function (internal, module) {
  'use strict';
  const ParseError = internal('parse/error');
  const { ACL } = internal('parse/values');
  const { encode, decode, equals, isPlain } = internal('parse/encode');
  const ops = internal('parse/ops');
  const { Op, SetOp, UnsetOp, IncrementOp, AddOp, AddUniqueOp, RemoveOp, RelationOp } = ops;

  const classes = new Map();
  const readOnly = ['createdAt', 'updatedAt'];
  const fieldName = /^[A-Za-z][0-9A-Za-z_.]*$/;
  let lastLocal = 0;

  class ParseObject {
    constructor(className, attributes, options) {
      if (typeof className === 'string') {
        this.className = className;
      } else if (isPlain(className)) {
        const { className: name, ...rest } = className;
        this.className = name;
        attributes = rest;
        options = attributes;
      }
      this.id = undefined;
      this._localId = undefined;
      // Server's values; layers of operations, the last one still open; texts of values that can be changed in place.
      define(this, '_server', {});
      define(this, '_pending', [{}]);
      define(this, '_texts', new Map());
      define(this, '_hasExisted', false);
      define(this, '_saving', undefined);
      if (typeof this.initialize === 'function') this.initialize(attributes, options);
      if (isPlain(attributes)) this.set(attributes, options);
    }

    // MARK: what it holds

    get attributes() { return Object.freeze(this._values()); }
    get createdAt() { return this._server.createdAt; }
    get updatedAt() { return this._server.updatedAt; }

    _values() {
      const values = { ...this._server };
      for (const layer of this._pending) for (const key of Object.keys(layer)) apply(values, key, layer[key], this);
      return values;
    }
    _value(key) {
      let value = this._server[key];
      let isDotted = false;
      for (const layer of this._pending) {
        if (Object.hasOwn(layer, key)) value = operate(layer[key], value, this, key);
        isDotted ||= Object.keys(layer).some(one => one.includes('.'));
      }
      return isDotted ? this._values()[key] : value;
    }

    get(key) {
      if (key === 'ACL') return this.getACL();
      const value = this._value(key);
      if (value instanceof internal('parse/relation')) value._ensure(this, key);
      return value;
    }
    has(key) { const value = this._value(key); return value !== undefined && value !== null; }
    escape(key) {
      const value = this.get(key);
      if (value === undefined || value === null) return '';
      const marks = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#x27;', '/': '&#x2F;' };
      return String(value).replace(/[&<>"'/]/g, mark => marks[mark]);
    }
    relation(key) {
      const value = this._value(key);
      const Relation = internal('parse/relation');
      if (value === undefined || value === null) return new Relation(this, key);
      if (!(value instanceof Relation)) throw new Error(`Called relation() on non-relation field ${key}`);
      return value._ensure(this, key);
    }
    getACL() { const acl = this._value('ACL'); return acl instanceof ACL ? acl : null; }
    isDataAvailable() { return Object.keys(this._server).length > 0; }
    isNew() { return !this.id; }
    existed() { return this._hasExisted; }
    isValid() { return !this.validate(this._values()); }
    getSessionToken() { return undefined; }

    // MARK: what is to be changed

    // A value that was changed in place: its text is another one than when it came.
    _touched() {
      const touched = {};
      for (const key of this._texts.keys()) {
        const value = this._value(key);
        if (isMutable(value) && text(value) !== this._texts.get(key)) touched[key] = value;
      }
      return touched;
    }
    dirty(key) {
      if (!this.id) return true;
      if (key !== undefined) return this._pending.some(layer => Object.hasOwn(layer, key)) || key in this._touched();
      return Object.keys(this._open).length > 0 || Object.keys(this._touched()).length > 0;
    }
    dirtyKeys() { return [...new Set([...this._pending.flatMap(Object.keys), ...Object.keys(this._touched())])]; }
    get _open() { return this._pending.at(-1); }
    op(key) { return this._pending.findLast(layer => Object.hasOwn(layer, key))?.[key]; }

    set(key, value, options) {
      let changes = key;
      if (typeof key === 'string') changes = { [key]: value };
      else if (isPlain(key)) options = value;
      else return this;
      const next = {};
      for (const name of Object.keys(changes)) {
        if (readOnly.includes(name)) continue;
        const given = changes[name];
        if (name === 'objectId' || name === 'id') {
          if (typeof this.id === 'string' && this.id !== given && given === undefined) continue;
          this.id = given;
        } else if (given instanceof Op) {
          next[name] = given;
        } else if (isPlain(given) && typeof given.__op === 'string') {
          next[name] = ops.fromJSON(given);
        } else if (name === 'ACL' && isPlain(given) && !(given instanceof ACL)) {
          next[name] = new SetOp(new ACL(given));
        } else if (given instanceof internal('parse/relation')) {
          const relation = new (internal('parse/relation'))(this, name, given.targetClassName);
          next[name] = new SetOp(relation);
        } else {
          next[name] = new SetOp(given);
        }
      }
      const fault = this.validate(Object.fromEntries(Object.entries(next).map(([name, op]) => [name, op._value])), options);
      if (fault && !(options && options.ignoreValidation)) throw fault;
      for (const name of Object.keys(next)) {
        const before = this._open[name];
        const merged = next[name].mergeWith(before);
        // Refuses at once what the field's value can't bear.
        if (!name.includes('.')) operate(merged, this._valueBelow(name), this, name);
        this._open[name] = merged;
      }
      return this;
    }
    _valueBelow(key) {
      return this._pending.slice(0, -1).reduce((value, layer) => (Object.hasOwn(layer, key) ? operate(layer[key], value, this, key) : value),
        this._server[key]);
    }
    validate(changes) {
      if ('ACL' in changes && changes.ACL !== undefined && changes.ACL !== null && !(changes.ACL instanceof ACL)) {
        return new ParseError(ParseError.OTHER_CAUSE, 'ACL must be a Parse ACL.');
      }
      const bad = Object.keys(changes).find(key => !fieldName.test(key));
      return bad === undefined ? false : new ParseError(ParseError.INVALID_KEY_NAME, `Invalid key name: ${bad}`);
    }
    unset(key, options) { return this.set(key, new UnsetOp(), options); }
    increment(key, amount = 1) {
      if (typeof amount !== 'number') throw new Error('Cannot increment by a non-numeric amount.');
      return this.set(key, new IncrementOp(amount));
    }
    decrement(key, amount = 1) {
      if (typeof amount !== 'number') throw new Error('Cannot decrement by a non-numeric amount.');
      return this.set(key, new IncrementOp(-amount));
    }
    add(key, item) { return this.set(key, new AddOp([item])); }
    addAll(key, items) { return this.set(key, new AddOp(items)); }
    addUnique(key, item) { return this.set(key, new AddUniqueOp([item])); }
    addAllUnique(key, items) { return this.set(key, new AddUniqueOp(items)); }
    remove(key, item) { return this.set(key, new RemoveOp([item])); }
    removeAll(key, items) { return this.set(key, new RemoveOp(items)); }
    setACL(acl, options) { return this.set('ACL', acl, options); }
    clear() {
      for (const key of Object.keys(this._values())) if (!readOnly.includes(key)) this.unset(key);
      return this;
    }
    revert(...keys) {
      const gone = keys.length > 0 ? keys : Object.keys(this._open);
      for (const key of gone) {
        if (typeof key !== 'string') throw new Error('Parse.Object#revert expects either no, or a list of string, arguments.');
        delete this._open[key];
      }
    }
    setSessionToken() {}

    // MARK: as JSON

    toJSON(seen) {
      const self = this.id ? `${this.className}:${this.id}` : this;
      const above = seen || [self];
      const json = {};
      const values = this._values();
      for (const key of Object.keys(values)) {
        json[key] = readOnly.includes(key) && values[key] ? values[key].toJSON() : encode(values[key], false, false, above);
      }
      const open = this._pending[0];
      for (const key of Object.keys(open)) if (!key.includes('.')) json[key] = open[key].toJSON();
      if (this.id) json.objectId = this.id;
      return json;
    }
    _toFullJSON(seen) { return { ...this.toJSON(seen), __type: 'Object', className: this.className }; }
    toPointer() {
      if (!this.id) throw new Error('Cannot create a pointer to an unsaved ParseObject');
      return { __type: 'Pointer', className: this.className, objectId: this.id };
    }
    toOfflinePointer() { return { __type: 'Object', className: this.className, _localId: this._getId() }; }
    _getId() {
      if (typeof this.id === 'string') return this.id;
      this._localId ||= `local${++lastLocal}`;
      return this._localId;
    }
    // The body of a request that saves it.
    _getSaveJSON() {
      const json = {};
      const open = this._pending[0];
      for (const [key, value] of Object.entries(this._touched())) {
        if (!Object.keys(open).some(name => name.startsWith(`${key}.`))) json[key] = encode(value, false, true);
      }
      for (const key of Object.keys(open)) json[key] = open[key].toJSON();
      return json;
    }
    equals(other) {
      return this === other || (other instanceof ParseObject && this.className === other.className && this.id !== undefined
        && this.id === other.id);
    }
    clone() {
      const copy = new this.constructor(this.className);
      copy.className = this.className;
      const values = this._values();
      for (const key of readOnly) delete values[key];
      copy.set(values);
      return copy;
    }
    newInstance() {
      const other = new this.constructor(this.className);
      other.className = this.className;
      other.id = this.id;
      return other;
    }
    [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
      return `${this.constructor.name} ${this.className} ${inspect({ id: this.id, ...this._values() }, options)}`;
    }

    // MARK: what the server answers

    _finishFetch(json) {
      if (!this.id && json.objectId) this.id = json.objectId;
      const values = {};
      for (const key of Object.keys(json)) {
        if (['objectId', 'className', '__type'].includes(key)) continue;
        values[key] = received(this, key, json[key]);
      }
      if (!values.updatedAt && values.createdAt) values.updatedAt = values.createdAt;
      this._commit(values);
    }
    _commit(values) {
      for (const key of Object.keys(values)) {
        const value = values[key];
        if (value === undefined) delete this._server[key]; else this._server[key] = value;
        if (isMutable(value)) this._texts.set(key, text(value)); else this._texts.delete(key);
      }
    }
    _clearServerData() {
      for (const key of Object.keys(this._server)) delete this._server[key];
      this._texts.clear();
    }
    // What is saved now is closed: changes from here on go with the next save.
    _beginSave() { this._pending.push({}); }
    // The oldest layer is the server's now, with what that made of it.
    _handleSaveResponse(json, status) {
      const layer = this._pending.length > 1 ? this._pending.shift() : this._pending.splice(0, 1, {})[0];
      const values = {};
      const whole = { ...this._server };
      for (const key of Object.keys(layer)) {
        apply(whole, key, layer[key], this);
        const field = key.split('.')[0];
        values[field] = whole[field];
      }
      for (const key of Object.keys(json || {})) {
        if (['objectId', 'className', '__type'].includes(key)) continue;
        const value = received(this, key, json[key]);
        values[key] = value instanceof UnsetOp ? undefined : value;
      }
      if (values.createdAt && !values.updatedAt) values.updatedAt = values.createdAt;
      if (json && json.objectId) this.id = json.objectId;
      if (status !== 201) this._hasExisted = true;
      this._commit(values);
    }
    // The save failed: its changes come before those made since.
    _abandonSave() {
      const [layer, next] = [this._pending.shift(), this._pending[0]];
      for (const key of Object.keys(layer)) next[key] = next[key] ? next[key].mergeWith(layer[key]) : layer[key];
    }
    _setExisted(existed) { this._hasExisted = existed; }
    _clearPendingOps() { this._pending.splice(0, this._pending.length, {}); }
    _getServerData() { return this._server; }
    _getPendingOps() { return this._pending; }

    // Changes that somebody else has made: not judged here.
    _assume(changes) {
      for (const key of Object.keys(changes)) {
        const value = changes[key];
        this._open[key] = value instanceof Op ? value : new SetOp(key === 'ACL' && isPlain(value) && !(value instanceof ACL) ? new ACL(value) : value);
      }
    }

    // MARK: to and from the server

    save(first, second, third) {
      let [changes, options] = [first, second];
      if (typeof first === 'string') [changes, options] = [{ [first]: second }, third];
      if (isPlain(changes) && second === undefined && isOptions(changes)) [changes, options] = [null, changes];
      try { if (changes) this.set(changes, options); } catch (error) { return Promise.reject(error); }
      return storage().save(this, options || {});
    }
    destroy(options) {
      if (!this.id) return Promise.resolve(undefined);
      return storage().destroy(this, options || {});
    }
    fetch(options) { return storage().fetch(this, options || {}); }
    fetchWithInclude(keys, options) { return this.fetch({ ...options, include: keys }); }
    async exists(options) {
      if (!this.id) return false;
      const query = new (internal('parse/query'))(this.className).equalTo('objectId', this.id);
      return Boolean(await query.first(options));
    }

    // MARK: the class

    static fromJSON(json, override, dirty) {
      if (!json.className) throw new Error('Cannot create an object without a className');
      const constructor = classes.get(json.className);
      const object = constructor ? new constructor(json.className) : new ParseObject(json.className);
      object.className ||= json.className;
      object._clearPendingOps();
      const { className, __type, ...values } = json;
      if (dirty) {
        const { objectId, ...changes } = values;
        object.id = objectId;
        object.set(decode(changes));
      } else {
        object._finishFetch(values);
      }
      if (json.objectId) object._setExisted(true);
      return object;
    }
    static createWithoutData(id) {
      const object = new this();
      object._clearPendingOps();
      object.id = id;
      return object;
    }
    static extend(className, methods, statics) {
      if (typeof className !== 'string') {
        if (!className || typeof className.className !== 'string') throw new Error('Parse.Object.extend needs the name of a class.');
        return ParseObject.extend(className.className, className, methods);
      }
      const name = className === 'User' ? '_User' : className;
      const parent = this !== ParseObject ? this : classes.get(name) || ParseObject;
      // A function, so that code may call it as its own parent's constructor.
      function ParseObjectSubclass(attributes, options) {
        const values = typeof attributes === 'string' ? undefined : attributes;
        return Reflect.construct(ParseObject, [name, values, options], new.target || ParseObjectSubclass);
      }
      ParseObjectSubclass.prototype = Object.create(parent.prototype, {
        constructor: { value: ParseObjectSubclass, writable: true, configurable: true },
      });
      Object.setPrototypeOf(ParseObjectSubclass, parent);
      // Of users and roles the parent's own can not be assigned to.
      Object.defineProperty(ParseObjectSubclass, 'className', { value: name, writable: true, enumerable: true, configurable: true });
      ParseObjectSubclass.__super__ = parent.prototype;
      for (const key of Object.keys(methods || {})) if (key !== 'className') describe(ParseObjectSubclass.prototype, methods, key);
      for (const key of Object.keys(statics || {})) if (key !== 'className') describe(ParseObjectSubclass, statics, key);
      classes.set(name, ParseObjectSubclass);
      return ParseObjectSubclass;
    }
    static registerSubclass(className, constructor) {
      if (typeof className !== 'string') throw new TypeError('The first argument must be a valid class name.');
      if (typeof constructor !== 'function') throw new TypeError('You must supply a subclass constructor.');
      classes.set(className, constructor);
      constructor.className ||= className;
    }
    static unregisterSubclass(className) { classes.delete(className); }
    static _classOf(className) { return classes.get(className); }
    static saveAll(list, options) { return storage().saveAll(list, options || {}); }
    static destroyAll(list, options) { return storage().destroyAll(list, options || {}); }
    static fetchAll(list, options) { return storage().fetchAll(list, options || {}, true); }
    static fetchAllIfNeeded(list, options) { return storage().fetchAll(list, options || {}, false); }
    static fetchAllWithInclude(list, keys, options) { return storage().fetchAll(list, { ...options, include: keys }, true); }
    static fetchAllIfNeededWithInclude(list, keys, options) { return storage().fetchAll(list, { ...options, include: keys }, false); }
    static disableSingleInstance() {}
    static enableSingleInstance() {}
  }

  const storage = () => internal('parse/storage');
  const define = (object, name, value) => Object.defineProperty(object, name, { value, writable: true, enumerable: false });
  const describe = (target, source, key) => Object.defineProperty(target, key, Object.getOwnPropertyDescriptor(source, key));
  const optionNames = ['useMasterKey', 'sessionToken', 'installationId', 'context', 'cascadeSave', 'batchSize', 'wait', 'success', 'error'];
  const isOptions = value => Object.keys(value).length > 0 && Object.keys(value).every(key => optionNames.includes(key));
  const isMutable = value => {
    if (value === null || typeof value !== 'object' || value instanceof ParseObject || value instanceof Date) return false;
    return !(value instanceof internal('parse/relation')) && !(value instanceof internal('parse/file'));
  };
  const text = value => JSON.stringify(encode(value, false, true));
  const operate = (op, value, parent, key) => (op instanceof RelationOp ? op.applyTo(value, parent, key) : op.applyTo(value));

  // Changes a field of `values`, or what lies within one: the objects on the way are copied.
  function apply(values, key, op, parent) {
    if (!key.includes('.')) {
      values[key] = operate(op, values[key], parent, key);
      return;
    }
    const path = key.split('.');
    const last = path.pop();
    let here = values;
    for (const name of path) {
      here[name] = Array.isArray(here[name]) ? [...here[name]] : isPlain(here[name]) ? { ...here[name] } : {};
      here = here[name];
    }
    if (op instanceof UnsetOp) delete here[last]; else here[last] = op.applyTo(here[last]);
  }

  function received(object, key, json) {
    if (readOnly.includes(key)) return typeof json === 'string' ? new Date(json) : decode(json);
    if (key === 'ACL') return json === null || json === undefined ? undefined : json instanceof ACL ? json : new ACL(json);
    const value = decode(json);
    if (value instanceof internal('parse/relation')) value._ensure(object, key);
    return value;
  }

  ParseObject._equals = equals;
  module.exports = ParseObject;
})
