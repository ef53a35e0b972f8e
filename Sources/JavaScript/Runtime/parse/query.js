// Parse.Query.
(function (internal, module) {
  'use strict';
  const ParseError = internal('parse/error');
  const ParseObject = internal('parse/object');
  const { GeoPoint } = internal('parse/values');
  const { encode } = internal('parse/encode');
  const rest = internal('parse/rest');

  const quote = text => `\\Q${text.replaceAll('\\E', '\\E\\\\E\\Q')}\\E`;
  const listOf = keys => keys.flat(Infinity);

  class Query {
    constructor(objectClass) {
      if (typeof objectClass === 'string') {
        if (objectClass === 'User' && ParseObject._classOf('_User')) this.className = '_User';
        else this.className = objectClass;
      } else if (objectClass instanceof ParseObject) {
        this.className = objectClass.className;
      } else if (typeof objectClass === 'function') {
        this.className = typeof objectClass.className === 'string' ? objectClass.className : new objectClass().className;
      } else {
        throw new TypeError('A ParseQuery must be constructed with a ParseObject or class name.');
      }
      this._where = {};
      this._include = [];
      this._exclude = [];
      this._select = undefined;
      this._limit = -1;
      this._skip = 0;
      this._count = false;
      this._order = [];
      this._extraOptions = {};
    }

    // MARK: conditions

    _addCondition(key, condition, value) {
      const before = this._where[key];
      if (!before || typeof before === 'string') this._where[key] = {};
      this._where[key][condition] = encode(value, false, true);
      return this;
    }
    equalTo(key, value) {
      if (key !== null && typeof key === 'object') {
        Object.entries(key).forEach(([one, other]) => this.equalTo(one, other));
        return this;
      }
      if (value === undefined) return this.doesNotExist(key);
      this._where[key] = encode(value, false, true);
      return this;
    }
    notEqualTo(key, value) {
      if (key !== null && typeof key === 'object') {
        Object.entries(key).forEach(([one, other]) => this.notEqualTo(one, other));
        return this;
      }
      return value === undefined ? this.exists(key) : this._addCondition(key, '$ne', value);
    }
    lessThan(key, value) { return this._addCondition(key, '$lt', value); }
    greaterThan(key, value) { return this._addCondition(key, '$gt', value); }
    lessThanOrEqualTo(key, value) { return this._addCondition(key, '$lte', value); }
    greaterThanOrEqualTo(key, value) { return this._addCondition(key, '$gte', value); }
    containedIn(key, values) { return this._addCondition(key, '$in', values); }
    notContainedIn(key, values) { return this._addCondition(key, '$nin', values); }
    containedBy(key, values) { return this._addCondition(key, '$containedBy', values); }
    containsAll(key, values) { return this._addCondition(key, '$all', values); }
    containsAllStartingWith(key, values) {
      return this._addCondition(key, '$all', [].concat(values).map(value => ({ $regex: `^${quote(value)}` })));
    }
    exists(key) { return this._addCondition(key, '$exists', true); }
    doesNotExist(key) { return this._addCondition(key, '$exists', false); }
    matches(key, expression, modifiers) {
      this._addCondition(key, '$regex', expression);
      let flags = modifiers || '';
      if (expression instanceof RegExp) {
        if (expression.ignoreCase && !flags.includes('i')) flags += 'i';
        if (expression.multiline && !flags.includes('m')) flags += 'm';
      }
      return flags ? this._addCondition(key, '$options', flags) : this;
    }
    contains(key, text) {
      if (typeof text !== 'string') throw new TypeError('The value being searched for must be a string.');
      return this._addCondition(key, '$regex', quote(text));
    }
    startsWith(key, text, modifiers) {
      if (typeof text !== 'string') throw new TypeError('The value being searched for must be a string.');
      return this.matches(key, `^${quote(text)}`, modifiers);
    }
    endsWith(key, text, modifiers) {
      if (typeof text !== 'string') throw new TypeError('The value being searched for must be a string.');
      return this.matches(key, `${quote(text)}$`, modifiers);
    }
    fullText(key, text, options = {}) {
      if (!key) throw new TypeError('A key is required.');
      if (typeof text !== 'string') throw new TypeError('The value being searched for must be a string.');
      const search = { $term: text };
      const names = { language: '$language', caseSensitive: '$caseSensitive', diacriticSensitive: '$diacriticSensitive' };
      for (const [name, value] of Object.entries(options || {})) {
        if (!names[name]) throw new Error(`Unknown option: ${name}`);
        search[names[name]] = value;
      }
      return this._addCondition(key, '$text', { $search: search });
    }
    sortByTextScore() { return this.ascending('$score').select(['$score']); }
    matchesQuery(key, query) { return this._addCondition(key, '$inQuery', subquery(query)); }
    doesNotMatchQuery(key, query) { return this._addCondition(key, '$notInQuery', subquery(query)); }
    matchesKeyInQuery(key, queryKey, query) { return this._addCondition(key, '$select', { key: queryKey, query: subquery(query) }); }
    doesNotMatchKeyInQuery(key, queryKey, query) {
      return this._addCondition(key, '$dontSelect', { key: queryKey, query: subquery(query) });
    }
    near(key, point) { return this._addCondition(key, '$nearSphere', place(point)); }
    withinRadians(key, point, distance, sorted = true) {
      if (sorted) return this.near(key, point)._addCondition(key, '$maxDistance', distance);
      const { latitude, longitude } = place(point);
      return this._addCondition(key, '$geoWithin', { $centerSphere: [[longitude, latitude], distance] });
    }
    withinKilometers(key, point, distance, sorted) { return this.withinRadians(key, point, distance / 6371, sorted); }
    withinMiles(key, point, distance, sorted) { return this.withinRadians(key, point, distance / 3958.8, sorted); }
    withinGeoBox(key, southwest, northeast) { return this._addCondition(key, '$within', { $box: [place(southwest), place(northeast)] }); }
    withinPolygon(key, points) { return this._addCondition(key, '$geoWithin', { $polygon: points }); }
    polygonContains(key, point) { return this._addCondition(key, '$geoIntersects', { $point: point }); }

    // MARK: order, pages, fields

    ascending(...keys) { this._order = []; return this.addAscending(...keys); }
    addAscending(...keys) { this._order.push(...names(keys)); return this; }
    descending(...keys) { this._order = []; return this.addDescending(...keys); }
    addDescending(...keys) { this._order.push(...names(keys).map(key => `-${key}`)); return this; }
    limit(count) {
      if (typeof count !== 'number') throw new TypeError('You can only set the limit to a numeric value');
      this._limit = count;
      return this;
    }
    skip(count) {
      if (typeof count !== 'number' || count < 0) throw new TypeError('You can only skip by a positive number');
      this._skip = count;
      return this;
    }
    withCount(wanted = true) {
      if (typeof wanted !== 'boolean') throw new TypeError('You can only set withCount to a boolean value');
      this._count = wanted;
      return this;
    }
    include(...keys) { this._include.push(...listOf(keys)); return this; }
    includeAll() { return this.include('*'); }
    select(...keys) { this._select = [...(this._select || []), ...listOf(keys)]; return this; }
    exclude(...keys) { this._exclude.push(...listOf(keys)); return this; }
    watch() { return this; }
    hint(value) { if (value === undefined) delete this._hint; else this._hint = value; return this; }
    explain(wanted = true) { this._explain = wanted; return this; }
    comment(text) { this._comment = text; return this; }
    readPreference(one, includes, subqueries) { Object.assign(this, { _readPreference: one, _includeReadPreference: includes, _subqueryReadPreference: subqueries }); return this; }

    // MARK: as JSON

    toJSON() {
      const json = { where: this._where };
      if (this._include.length > 0) json.include = this._include.join(',');
      if (this._exclude.length > 0) json.excludeKeys = this._exclude.join(',');
      if (this._select) json.keys = this._select.join(',');
      if (this._count) json.count = 1;
      if (this._limit >= 0) json.limit = this._limit;
      if (this._skip > 0) json.skip = this._skip;
      if (this._order.length > 0) json.order = this._order.join(',');
      if (this._readPreference) json.readPreference = this._readPreference;
      if (this._includeReadPreference) json.includeReadPreference = this._includeReadPreference;
      if (this._subqueryReadPreference) json.subqueryReadPreference = this._subqueryReadPreference;
      if (this._hint) json.hint = this._hint;
      if (this._explain) json.explain = true;
      if (this._comment) json.comment = this._comment;
      return { ...json, ...this._extraOptions };
    }
    withJSON(json) {
      const split = value => (value === undefined || value === null || value === '' ? [] : Array.isArray(value) ? value : String(value).split(','));
      for (const key of Object.keys(json)) {
        const value = json[key];
        switch (key) {
          case 'where': this._where = value || {}; break;
          case 'include': this._include = split(value); break;
          case 'keys': this._select = value === undefined ? undefined : split(value); break;
          case 'excludeKeys': this._exclude = split(value); break;
          case 'order': this._order = split(value); break;
          case 'limit': this._limit = Number(value); break;
          case 'skip': this._skip = Number(value); break;
          case 'count': this._count = value === true || Number(value) === 1; break;
          case 'hint': this._hint = value; break;
          case 'explain': this._explain = Boolean(value); break;
          case 'comment': this._comment = value; break;
          case 'readPreference': case 'includeReadPreference': case 'subqueryReadPreference': this[`_${key}`] = value; break;
          case 'className': break;
          default: this._extraOptions[key] = value;
        }
      }
      return this;
    }
    static fromJSON(className, json) { return new Query(className).withJSON(json); }
    _copy() { return Query.fromJSON(this.className, structuredClone(this.toJSON())); }
    clone() { return this._copy(); }

    // MARK: answers

    _find(options) { return rest.request('GET', `classes/${rest.segment(this.className)}`, this.toJSON(), options); }
    _objects(answer) {
      const className = answer.className || this.className;
      return answer.results.map(json => ParseObject.fromJSON({ ...json, className: json.className || className }));
    }
    async find(options) {
      const answer = await this._find(options);
      if (this._explain) return answer.results;
      const results = this._objects(answer);
      return this._count ? { results, count: answer.count } : results;
    }
    async first(options) {
      const query = this._copy().limit(1);
      const answer = await query._find(options);
      return this._objects(answer)[0];
    }
    async get(id, options) {
      const query = this._copy();
      query.equalTo('objectId', id);
      const object = await query.first(options);
      if (!object) throw new ParseError(ParseError.OBJECT_NOT_FOUND, 'Object not found.');
      return object;
    }
    async count(options) {
      const query = this._copy().limit(0).withCount(true);
      return (await query._find(options)).count;
    }
    async distinct(key, options) {
      const body = { distinct: key };
      if (Object.keys(this._where).length > 0) body.where = this._where;
      if (this._hint) body.hint = this._hint;
      return (await rest.request('GET', `aggregate/${rest.segment(this.className)}`, body, { ...options, useMasterKey: true })).results;
    }
    async aggregate(pipeline, options) {
      if (!Array.isArray(pipeline) && (pipeline === null || typeof pipeline !== 'object')) {
        throw new Error('Invalid pipeline must be Array or Object');
      }
      let stages = pipeline;
      if (Object.keys(this._where).length > 0) {
        stages = [{ $match: this._where }, ...(Array.isArray(pipeline) ? pipeline : Object.entries(pipeline).map(([name, stage]) => ({ [name]: stage })))];
      }
      const body = { pipeline: encode(stages) };
      if (this._hint) body.hint = this._hint;
      if (this._explain) body.explain = true;
      return (await rest.request('GET', `aggregate/${rest.segment(this.className)}`, body, { ...options, useMasterKey: true })).results;
    }

    // MARK: all of them

    async eachBatch(callback, options = {}) {
      if (this._order.length > 0 || this._skip > 0 || this._limit >= 0) {
        throw new Error('Cannot iterate on a query with sort, skip, or limit.');
      }
      const query = this._copy();
      query._limit = options.batchSize || 100;
      query.ascending('objectId');
      for (;;) {
        /* eslint-disable no-await-in-loop */
        const results = await query.find(options);
        if (results.length > 0) await callback(results);
        /* eslint-enable no-await-in-loop */
        if (results.length < query._limit) return;
        query.greaterThan('objectId', results.at(-1).id);
      }
    }
    each(callback, options) {
      return this.eachBatch(async results => {
        for (const object of results) await callback(object); // eslint-disable-line no-await-in-loop
      }, options);
    }
    async findAll(options) {
      const all = [];
      await this.eachBatch(results => { all.push(...results); }, options);
      return all;
    }
    async map(callback, options) {
      const all = [];
      let index = 0;
      await this.each(async object => { all.push(await callback(object, index++, this)); }, options);
      return all;
    }
    async filter(callback, options) {
      const all = [];
      let index = 0;
      await this.each(async object => { if (await callback(object, index++, this)) all.push(object); }, options);
      return all;
    }
    async reduce(callback, initial, options) {
      let value = initial;
      let index = 0;
      await this.each(async object => {
        value = index === 0 && initial === undefined ? object : await callback(value, object, index);
        index++;
      }, options);
      if (index === 0 && initial === undefined) throw new TypeError('Reducing empty query result set with no initial value');
      return value;
    }
    cancel() { return this; }
    subscribe() { return Promise.reject(new Error('Parse.Query#subscribe: cloud code does not subscribe; use the triggers of LiveQuery')); }
    fromNetwork() { return this; }
    _handleOfflineSort() {}

    static or(...queries) { return joined('$or', queries); }
    static and(...queries) { return joined('$and', queries); }
    static nor(...queries) { return joined('$nor', queries); }
    _orQuery(queries) { return this.#join('$or', queries); }
    _andQuery(queries) { return this.#join('$and', queries); }
    _norQuery(queries) { return this.#join('$nor', queries); }
    #join(operator, queries) { this._where[operator] = queries.map(query => query.toJSON().where); return this; }
  }

  function joined(operator, queries) {
    const all = queries.flat();
    const className = all[0] && all[0].className;
    if (all.some(query => query.className !== className)) throw new Error('All queries must be for the same class.');
    return new Query(className)[`_${operator.slice(1)}Query`](all);
  }
  function subquery(query) {
    const json = query.toJSON();
    return { ...json, className: query.className };
  }
  const names = keys => listOf(keys).flatMap(key => String(key).replace(/\s/g, '').split(','));
  function place(point) {
    const { latitude, longitude } = point instanceof GeoPoint ? point : new GeoPoint(point);
    return { __type: 'GeoPoint', latitude, longitude };
  }
  module.exports = Query;
})
