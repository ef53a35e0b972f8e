// A call of the host's: the request that a handler is given, the handler's run, and what is answered.
(function (internal, module, host) {
  'use strict';
  const turn = internal('turn');
  const util = internal('node/util');
  const Cloud = internal('parse/cloud');
  const rest = internal('parse/rest');
  const ParseError = internal('parse/error');
  const ParseObject = internal('parse/object');
  const Query = internal('parse/query');
  const { validate } = internal('parse/validators');
  const { encode, decode, isPlain } = internal('parse/encode');
  const running = new Set();

  const log = Object.fromEntries(Object.entries({ info: 'info', log: 'info', warn: 'warn', error: 'error', debug: 'debug',
    verbose: 'debug', silly: 'debug' }).map(([name, level]) => [name, (...values) => host.log(level, util.format(...values).toWellFormed())]));

  function start(sort, name, className, payload, token, headers) {
    const owner = turn.owner;
    const entry = Cloud._handler(sort, name, className);
    running.add(owner);
    const request = requestOf(payload, token, headers);
    const contextBefore = JSON.stringify(request.context);
    const finish = ({ body, response } = {}) => {
      if (!running.has(owner)) return;
      // What is no JSON throws here: the call still runs then, and fails.
      const context = JSON.stringify(request.context);
      const texts = [body === undefined ? undefined : JSON.stringify(body), context === contextBefore ? undefined : context,
        response && JSON.stringify(response)];
      running.delete(owner);
      host.finish(owner, ...texts);
    };
    const fail = error => {
      if (!running.delete(owner)) return;
      const { code, message, thrown } = faultOf(error, entry);
      host.fail(owner, code, message, thrown);
    };
    const kind = sort === 'trigger' ? triggers[name] : sort === 'function' ? ofFunction : ofJob;
    try {
      const told = after(kind(entry, request, payload), finish);
      if (isPromise(told)) told.catch(fail);
    } catch (error) { fail(error); }
  }

  // Goes on with what a value is or, of a promise, becomes. At once where it is none: the engine is entered anew for each
  // promise, which takes longer than most handlers.
  const after = (value, next) => (isPromise(value) ? Promise.resolve(value).then(next) : next(value));
  const isPromise = value => value !== null && (typeof value === 'object' || typeof value === 'function') && typeof value.then === 'function';

  function forget() { running.delete(turn.owner); }

  // What every handler is told. The headers, a JSON text, are taken apart for whoever asks.
  function requestOf(payload, token, headers) {
    const { context = {}, ip } = payload;
    const master = payload.master === true;
    const request = headers === undefined ? { master, log, context, ip } : {
      master, log, context, ip,
      get headers() { return typeof headers === 'string' ? (headers = JSON.parse(headers)) : headers; },
      set headers(value) { headers = value; },
    };
    for (const key of ['triggerName', 'installationId', 'functionName', 'isReadOnly']) if (payload[key] !== undefined) request[key] = payload[key];
    if (payload.headers) request.headers = payload.headers;
    if (payload.user) request.user = ParseObject.fromJSON({ ...payload.user, className: '_User', ...(token ? { sessionToken: token } : {}) });
    return request;
  }

  // MARK: functions and jobs

  // Of parameters only these become objects. All others stay what JSON made of them, so that no key of a client's is more
  // than a key.
  function parameters(value) {
    if (value === null || typeof value !== 'object') return value;
    switch (value.__type) {
      case 'Date': return Object.assign(new Date(value.iso), value);
      case 'Pointer': return ParseObject.fromJSON(value);
      case 'File': return decode(value);
      default:
    }
    for (const key of Object.keys(value)) {
      const one = value[key];
      if (one !== null && typeof one === 'object') value[key] = parameters(one);
    }
    return value;
  }

  function ofFunction({ handler, validator }, request, payload) {
    request.params = parameters(payload.params || {});
    return after(validator && validate(validator, request), () => {
      const response = new Response();
      const result = handler.length >= 2 ? answered(handler, request, response) : handler(request);
      return after(result, value => ({ body: encode(value), response: response.told }));
    });
  }

  // A function of two parameters answers by its second one, or by what it returns.
  function answered(handler, request, response) {
    return new Promise((resolve, reject) => {
      response.success = value => { resolve(value); };
      response.error = error => { reject(error); };
      Promise.resolve(handler(request, response)).then(value => { if (value !== undefined) resolve(value); }, reject);
    });
  }

  class Response {
    told = undefined;
    status(status) { this.told = { headers: {}, ...this.told, status }; return this; }
    header(name, value) {
      this.told = { ...this.told, headers: { ...(this.told && this.told.headers), [name]: String(value) } };
      return this;
    }
  }

  async function ofJob({ handler }, request, payload) {
    const { log: jobLog, ip, headers, installationId } = request;
    // One message after the other, whether the job waits for them or not; its own end comes after them all.
    let told = Promise.resolve();
    const message = text => {
      if (typeof text !== 'string') return Promise.resolve();
      const telling = told.then(() => rest.report(text));
      told = telling.catch(() => {});
      return telling;
    };
    const job = { params: parameters(payload.params || {}), jobName: payload.jobName, jobId: payload.jobId, log: jobLog, ip, headers,
      installationId, message };
    let result;
    try { result = await handler(job); } catch (error) {
      // What was thrown and is no text leaves the last message as it is.
      throw typeof error === 'string' || error instanceof Error ? error : new ParseError(ParseError.SCRIPT_FAILED, '');
    } finally { await told; }
    const text = result instanceof Error ? result.message : result;
    return typeof text === 'string' ? { body: text } : {};
  }

  // MARK: triggers

  // Runs a trigger's validator, then the trigger, and then `next` with what that returned, and whether it was promised.
  // A trigger that is skipped has returned nothing: what its validator has put in stays.
  function run({ handler, validator }, request, next = () => ({})) {
    const isSkipped = request.master && validator && validator.skipWithMasterKey;
    return after(validator && validate(validator, request), () => {
      const result = isSkipped ? undefined : handler(request);
      return after(result, returned => next(returned, isPromise(result)));
    });
  }

  function objectOf(json, existed = true) {
    const { __type, ...values } = json;
    const object = ParseObject.fromJSON(values);
    object._setExisted(existed);
    return object;
  }
  function giveObjects(request, payload) {
    if (payload.original) request.original = objectOf(payload.original);
    request.object = objectOf(payload.object, payload.original !== undefined);
  }

  function beforeSave(entry, request, payload) {
    if (payload.className === '@Config') return ofConfig(entry, request, payload);
    if (payload.original) request.original = objectOf(payload.original);
    request.object = objectOf(payload.original || { className: payload.className }, payload.original !== undefined);
    const { objectId, createdAt, updatedAt, className, ...changes } = payload.changes || payload.object;
    const { object } = request;
    if (payload.objectId) object.id = payload.objectId;
    object._assume(decode(changes));
    // A password is never shown, only that there is one.
    if (payload.hasPassword) object._assume({ password: '' });
    const saved = () => {
      const json = object._getSaveJSON();
      if (json.password === '') delete json.password;
      return json;
    };
    const before = JSON.stringify(saved());
    return run(entry, request, (returned, isPromised) => {
      // Only a promise can replace the write; what is returned otherwise counts for nothing.
      if (isPromised && isPlain(returned) && !(returned instanceof ParseObject) && isPlain(returned.object)) {
        return { body: { object: encode(returned.object, false, true) } };
      }
      const now = saved();
      if (JSON.stringify(now) === before) return {};
      return { body: { object: now, takenBack: Object.keys(JSON.parse(before)).filter(key => !(key in now)) } };
    });
  }

  function afterSave(entry, request, payload) {
    if (payload.className === '@Config') return ofConfig(entry, request, payload);
    giveObjects(request, payload);
    const { object } = request;
    const before = texts(object);
    return run(entry, request, returned => {
      if (returned !== null && typeof returned === 'object' && returned !== object && !(returned instanceof ParseObject && object.equals(returned))) {
        return { body: { object: returned instanceof ParseObject ? returned.toJSON() : encode(returned) } };
      }
      // What the hook set, fetched or saved shows in the client's answer.
      const json = object._toFullJSON();
      // The reference answers a user's name wherever something listens to users.
      if (payload.className === '_User') delete before.username;
      const fields = Object.fromEntries(Object.entries(json).filter(([key, value]) => JSON.stringify(value) !== before[key]));
      return Object.keys(fields).length > 0 ? { body: { fields } } : {};
    });
  }
  const texts = object => Object.fromEntries(Object.entries(object._toFullJSON()).map(([key, value]) => [key, JSON.stringify(value)]));

  function ofConfig(entry, request, payload) {
    const Config = internal('parse/config');
    const values = json => Config._fromJSON((json && json.params) || {});
    request.object = values(payload.object);
    request.original = payload.original ? values(payload.original) : undefined;
    return run(entry, request);
  }

  function withObject(entry, request, payload) {
    giveObjects(request, payload);
    request.object._setExisted(true);
    return run(entry, request);
  }

  function accountExport(entry, request, payload) {
    giveObjects(request, payload);
    request.object._setExisted(true);
    return run(entry, request, returned => (returned === undefined ? {} : { body: { data: encode(returned) } }));
  }

  function withFile(entry, request, payload) {
    request.file = decode(payload.file);
    request.fileSize = payload.fileSize;
    return run(entry, request);
  }

  function beforeFind(entry, request, payload) {
    if (payload.className === '@File') return withFile(entry, request, payload);
    giveQuery(request, payload);
    const before = JSON.stringify(request.query.toJSON());
    return run(entry, request, returned => {
      if (Array.isArray(returned)) return { body: { objects: returned.map(found) } };
      // Another query stands for what it says; the rest stays as the client asked.
      const json = returned instanceof Query ? { ...request.query.toJSON(), ...returned.toJSON() } : request.query.toJSON();
      return JSON.stringify(json) === before ? {} : { body: { query: json } };
    });
  }
  function giveQuery(request, payload) {
    request.query = Query.fromJSON(payload.className, payload.query || {});
    request.isGet = payload.isGet === true;
    request.count = payload.count === true;
    // Unless something else is asked for, it is as many as the server gives.
    const { query } = request;
    if (!request.isGet && !request.count && query._limit < 0 && rest.configuration.defaultLimit) query.limit(rest.configuration.defaultLimit);
  }

  function afterFind(entry, request, payload) {
    if (payload.className === '@File') return withFile(entry, request, payload);
    giveQuery(request, payload);
    request.objects = (payload.objects || []).map(json => objectOf({ ...json, className: payload.className }));
    const { objects } = request;
    // Skipped or not, what goes through here names its class.
    const told = returned => ({ body: { objects: (Array.isArray(returned) ? returned : objects).map(found) } });
    return run(entry, request, told);
  }
  // As the reference writes results: what a hook has set goes as it is, without types.
  function found(object) {
    if (!object || typeof object.toJSON !== 'function') return {};
    const json = object.toJSON();
    if (!(object instanceof ParseObject)) return json;
    for (const key of Object.keys(object._pending[0])) {
      const value = object.get(key);
      json[key] = value instanceof ParseObject ? value._toFullJSON() : value;
    }
    return { ...json, className: object.className };
  }

  function ofLiveQuery(entry, request, payload) {
    const asObject = json => (json ? objectOf({ ...json, className: payload.className }) : undefined);
    for (const key of ['event', 'requestId', 'clients', 'subscriptions', 'clientId', 'useMasterKey', 'sessionToken']) request[key] = payload[key];
    if (payload.query) giveQuery(request, payload);
    request.object = asObject(payload.object);
    request.original = asObject(payload.original);
    const before = request.object && JSON.stringify(request.object.toJSON());
    const queryBefore = request.query && JSON.stringify(request.query.toJSON());
    request.sendEvent = true;
    const told = () => {
      const body = {};
      if (request.sendEvent === false) body.sendEvent = false;
      if (request.object && JSON.stringify(request.object.toJSON()) !== before) body.object = request.object.toJSON();
      if (request.query && JSON.stringify(request.query.toJSON()) !== queryBefore) body.query = request.query.toJSON();
      return Object.keys(body).length > 0 ? { body } : {};
    };
    return run(entry, request, told);
  }

  const onFileOr = other => (entry, request, payload) => (payload.className === '@File' ? withFile : other)(entry, request, payload);
  const triggers = {
    beforeSave: onFileOr(beforeSave), afterSave: onFileOr(afterSave), beforeDelete: onFileOr(withObject), afterDelete: onFileOr(withObject),
    beforeFind, afterFind,
    beforeLogin: withObject, afterLogin: withObject, afterLogout: withObject, beforePasswordResetRequest: withObject,
    accountExport,
    beforeConnect: ofLiveQuery, beforeSubscribe: ofLiveQuery, afterEvent: ofLiveQuery,
  };

  // MARK: faults

  // Where an error comes from: the first line of its trace that lies in a file.
  function placeOf(error) {
    const match = String(error.stack || '').split('\n').map(line => /@(\/.*:\d+):\d+$/.exec(line)).find(Boolean);
    return match ? match[1] : '';
  }

  // What is thrown may be no JSON, either: its client would wait for what never comes.
  function faultOf(error, entry) {
    try { return refused(error, entry); } catch {
      host.log('error', `${entry.name} ${entry.className}`.trim() + ` threw what cannot be told`);
      return { code: ParseError.SCRIPT_FAILED, message: 'Script failed.' };
    }
  }

  // The code and the message that the client gets for what a handler threw.
  function refused(error, { sort, name, className }) {
    if (error instanceof ParseError) return { code: error.code, message: textOf(error.message) };
    if (error instanceof Error) {
      const place = placeOf(error);
      host.log('error', `${name} ${className}`.trim() + ` threw ${error.name}: ${error.message}${place && ` at ${place}`}`);
    }
    const told = (error instanceof Error ? withoutSource(error.message) : error && typeof error === 'object' && error.message ? error.message : error)
      || (sort === 'trigger' ? 'Script failed. Unknown error.' : 'Script failed.');
    // What is no text goes to the client as it is.
    return { code: ParseError.SCRIPT_FAILED, message: textOf(told), thrown: typeof told === 'string' ? undefined : JSON.stringify(told) };
  }
  // The engine's own faults quote the line, which is nobody's business but the log's.
  function withoutSource(message) {
    if (typeof message !== 'string') return message;
    const bare = message.replace(/\.? \((?:evaluating|In|near) '[^]*\)$/, '');
    if (bare === message) return message;
    const [, subject, verdict] = /^([^]*)( is not (?:a|an) [a-z]+)$/.exec(bare) || [];
    return subject !== undefined && !/^[\w$.]{1,100}$/.test(subject) ? `a value${verdict}` : bare;
  }
  function textOf(value) {
    if (typeof value === 'string') return value.toWellFormed();
    if (value === undefined || value === null) return '';
    const text = JSON.stringify(value);
    return text === undefined ? String(value) : text;
  }

  module.exports = { start, forget };
})
