// How objects reach the server: what a save takes along, batches, fetches.
(function (internal, module) {
  'use strict';
  const ParseError = internal('parse/error');
  const rest = internal('parse/rest');
  const { isPlain } = internal('parse/encode');
  const ParseObject = internal('parse/object');

  // Users have a route of their own; all else goes by its class.
  const path = object => (object.className === '_User' ? 'users' : `classes/${rest.segment(object.className)}`)
    + (object.id ? `/${rest.segment(object.id)}` : '');

  // The objects and files below an object that must be saved before it.
  function below(root) {
    const objects = new Set();
    const files = new Set();
    const File = internal('parse/file');
    const seen = new Set();
    const visit = value => {
      if (value === null || typeof value !== 'object' || seen.has(value)) return;
      seen.add(value);
      if (value instanceof ParseObject) {
        if (value !== root && (value.dirty() || !value.id)) objects.add(value);
        Object.values(value._values()).forEach(visit);
      } else if (value instanceof File) {
        if (!value.url()) files.add(value);
      } else if (Array.isArray(value)) {
        value.forEach(visit);
      } else if (isPlain(value) && Object.getPrototypeOf(value) === Object.prototype) {
        Object.values(value).forEach(visit);
      }
    };
    visit(root);
    return { objects: [...objects], files: [...files] };
  }

  // Whether nothing that it holds waits to be made.
  function isReady(object) {
    let ready = true;
    const visit = value => {
      if (!ready || value === null || typeof value !== 'object') return;
      if (value instanceof ParseObject) ready = Boolean(value.id);
      else if (Array.isArray(value)) value.forEach(visit);
      else if (isPlain(value) && Object.getPrototypeOf(value) === Object.prototype) Object.values(value).forEach(visit);
    };
    Object.values(object._values()).forEach(visit);
    return ready;
  }

  const wayOf = object => ({ method: object.id ? 'PUT' : 'POST', path: path(object), body: object._getSaveJSON() });

  // Saves of one object go one after another.
  function inTurn(objects, body) {
    const saving = Promise.allSettled(objects.map(object => object._saving)).then(body);
    objects.forEach(object => { object._saving = saving; });
    return saving;
  }

  async function saveOne(object, options) {
    const { method, path: way, body } = wayOf(object);
    object._beginSave();
    try {
      const answer = await rest.send(method, way, body, options);
      object._handleSaveResponse(answer.body, answer.status);
    } catch (error) {
      object._abandonSave();
      throw error;
    }
    return object;
  }

  async function save(object, options) {
    if (options.cascadeSave !== false) {
      const { objects, files } = below(object);
      await Promise.all(files.map(file => file.save(options)));
      await saveLayers(objects, options);
    }
    return inTurn([object], () => saveOne(object, options));
  }

  // First those that wait for nobody, then those that waited for them.
  async function saveLayers(list, options) {
    let left = list;
    const size = options.batchSize || 20;
    while (left.length > 0) {
      const batch = left.filter(isReady).slice(0, size);
      if (batch.length === 0) throw new ParseError(ParseError.OTHER_CAUSE, 'Tried to save a batch with a cycle.');
      left = left.filter(object => !batch.includes(object));
      await inTurn(batch, () => saveBatch(batch, options)); // eslint-disable-line no-await-in-loop
    }
  }

  async function saveBatch(objects, options) {
    const requests = objects.map(wayOf).map(way => ({ ...way, path: rest.mountPath + way.path }));
    objects.forEach(object => object._beginSave());
    let answers;
    try {
      answers = await rest.request('POST', 'batch', { requests }, options);
    } catch (error) {
      objects.forEach(object => object._abandonSave());
      throw error;
    }
    let fault;
    objects.forEach((object, index) => {
      const { success, error } = answers[index];
      if (success) {
        object._handleSaveResponse(success, requests[index].method === 'POST' ? 201 : 200);
      } else {
        object._abandonSave();
        fault ||= new ParseError(error.code, error.error);
      }
    });
    if (fault) throw fault;
  }

  async function saveAll(list, options) {
    if (!Array.isArray(list)) throw new ParseError(ParseError.OTHER_CAUSE, 'saveAll needs a list of objects.');
    const objects = new Set();
    const files = new Set();
    for (const object of list) {
      if (options.cascadeSave !== false) {
        const found = below(object);
        found.objects.forEach(one => objects.add(one));
        found.files.forEach(one => files.add(one));
      }
    }
    for (const object of list) if (object.dirty()) objects.add(object);
    await Promise.all([...files].map(file => file.save(options)));
    await saveLayers([...objects], options);
    return list;
  }

  async function destroy(object, options) {
    await rest.request('DELETE', path(object), {}, options);
    return object;
  }

  async function destroyAll(list, options) {
    const errors = [];
    const objects = list.filter(object => object.id);
    const size = options.batchSize || 20;
    for (let start = 0; start < objects.length; start += size) {
      const batch = objects.slice(start, start + size);
      const requests = batch.map(object => ({ method: 'DELETE', path: rest.mountPath + path(object), body: {} }));
      const answers = await rest.request('POST', 'batch', { requests }, options); // eslint-disable-line no-await-in-loop
      answers.forEach(({ error }, index) => {
        if (error) errors.push(Object.assign(new ParseError(error.code, error.error), { object: batch[index] }));
      });
    }
    if (errors.length > 0) {
      throw Object.assign(new ParseError(ParseError.AGGREGATE_ERROR, 'Error deleting an object in destroyAll'), { errors });
    }
    return list;
  }

  const listOf = include => (Array.isArray(include) ? include : [include]).filter(key => key !== undefined);

  async function fetch(object, options) {
    if (!object.id) throw new ParseError(ParseError.MISSING_OBJECT_ID, 'Object does not have an ID');
    const include = listOf(options.include);
    const json = await rest.request('GET', path(object), include.length > 0 ? { include: include.join(',') } : {}, options);
    object._clearPendingOps();
    object._clearServerData();
    object._finishFetch(json);
    object._setExisted(true);
    return object;
  }

  async function fetchAll(list, options, always) {
    if (list.length === 0) return list;
    const className = list[0].className;
    for (const object of list) {
      if (object.className !== className) {
        throw new ParseError(ParseError.INVALID_CLASS_NAME, 'All objects should be of the same class');
      }
      if (!object.id) throw new ParseError(ParseError.MISSING_OBJECT_ID, 'All objects must have an ID');
    }
    const wanted = list.filter(object => always || !object.isDataAvailable());
    if (wanted.length === 0) return list;
    const query = new (internal('parse/query'))(className).containedIn('objectId', wanted.map(object => object.id)).limit(wanted.length);
    const include = listOf(options.include);
    if (include.length > 0) query.include(include);
    const found = new Map((await query._find(options)).results.map(json => [json.objectId, json]));
    for (const object of wanted) {
      const json = found.get(object.id);
      if (json) {
        object._clearPendingOps();
        object._clearServerData();
        object._finishFetch(json);
        object._setExisted(true);
      } else if (always) {
        throw new ParseError(ParseError.OBJECT_NOT_FOUND, 'All objects must exist on the server.');
      }
    }
    return list;
  }

  module.exports = { save, saveAll, destroy, destroyAll, fetch, fetchAll, path };
})
