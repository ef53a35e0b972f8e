// Parse.Cloud: what the code listens to and offers, and calls of functions and jobs.
(function (internal, module, host) {
  'use strict';
  const rest = internal('parse/rest');
  const ParseError = internal('parse/error');
  const { encode, decode } = internal('parse/encode');
  const { checkHandler } = internal('check');
  const handlers = new Map();
  const keyOf = (sort, name, className) => `${sort}\n${name}\n${className}`;

  function register(sort, name, className, handler, validator) {
    // As in the reference: who registers nothing for an event listens to nothing.
    if (sort === 'trigger' && (handler === undefined || handler === null)) {
      console.warn(`${name} ${className}: there is no handler, so nothing listens`);
      return;
    }
    if (typeof handler !== 'function') throw new TypeError(`${sort} ${name} ${className}: the handler is no function`);
    const label = `${name} ${className}`.trim();
    // As the reference: log-ins make sessions past all hooks, so that a rule on them would be none.
    if (className === '_Session' && name !== 'afterLogout') {
      throw new Error(`${label}: only the afterLogout trigger is allowed for the _Session class`);
    }
    checkValidator(validator, label);
    checkHandler(sort, name, className, handler);
    const limits = validator && validator.rateLimit ? rateLimits(sort, name, className, validator.rateLimit, label) : [];
    // Of two handlers for one thing the last one counts, as in the reference.
    handlers.set(keyOf(sort, name, className), { handler, validator, sort, name, className });
    host.register(sort, name, className, JSON.stringify(limits));
  }

  // How often clients may ask for what a handler stands behind: the option's objects.
  function rateLimits(sort, name, className, limit, label) {
    if (typeof limit !== 'object') throw new TypeError(`${label}: rateLimit is no object`);
    // Counted in the database, so a Redis has no part in it.
    const { redisUrl, ...own } = limit;
    if (sort === 'function') return [{ requestPath: `/functions/${name}`, ...own }];
    if (name === 'beforeLogin') return [{ requestPath: '/login', ...own }];
    if (name === 'beforePasswordResetRequest') return [{ requestPath: '/requestPasswordReset', ...own }];
    const requestMethods = { beforeSave: ['POST', 'PUT'], beforeDelete: ['DELETE'], beforeFind: ['GET'] }[name];
    if (!requestMethods || className.startsWith('@')) {
      host.missing(`rateLimit of ${name}`, label);
      return [];
    }
    return [{ requestPath: `/classes/${className}/:id?`, requestMethods, ...own }];
  }

  // What a validator may say, and what kinds of values it says it with; none: any.
  const validatorKeys = {
    requireMaster: ['boolean'], requireUser: ['boolean'], validateMasterKey: ['boolean'], skipWithMasterKey: ['boolean'],
    requireAnyUserRoles: ['array', 'function'], requireAllUserRoles: ['array', 'function'],
    requireUserKeys: ['array', 'object'], requireAllUserKeys: [], fields: ['array', 'object'], rateLimit: ['object'],
  };
  const fieldKeys = { type: [], default: [], options: [], constant: ['boolean'], required: ['boolean'], error: ['string'] };

  // Refused at load, as in the reference: a rule that is written wrong would let everybody through.
  function checkValidator(validator, name) {
    if (validator === undefined || validator === null || typeof validator === 'function') return;
    if (typeof validator !== 'object') throw new TypeError(`${name}: the validator is neither a function nor an object`);
    checkRule(validator, validatorKeys);
    for (const fields of [validator.fields, validator.requireUserKeys]) {
      if (!fields || Array.isArray(fields)) continue;
      for (const rule of Object.values(fields)) if (rule !== null && typeof rule === 'object') checkRule(rule, fieldKeys);
    }
  }
  function checkRule(rule, allowed) {
    for (const [key, value] of Object.entries(rule)) {
      if (!Object.hasOwn(allowed, key)) throw new Error(`${key} is not a supported parameter for Cloud Function validations.`);
      const kinds = allowed[key];
      const kind = Array.isArray(value) ? 'array' : typeof value;
      if (kinds.length > 0 && !kinds.includes(kind)) {
        throw new TypeError(`Invalid type for Cloud Function validation key ${key}. Expected ${kinds.join('|')}, actual ${kind}`);
      }
    }
  }

  function classOf(target) {
    if (typeof target === 'string') return target;
    if (target === internal('parse/file')) return '@File';
    if (target && typeof target.className === 'string') return target.className;
    if (typeof target === 'function') return new target().className;
    throw new TypeError('a trigger needs a class, by its name or its constructor');
  }

  const Cloud = {
    define(name, handler, validator) { register('function', String(name), '', handler, validator); },
    job(name, handler) { register('job', String(name), '', handler); },
    beforeConnect(handler, validator) { register('trigger', 'beforeConnect', '@Connect', handler, validator); },
    beforeSubscribe(target, handler, validator) { register('trigger', 'beforeSubscribe', classOf(target), handler, validator); },
    afterLiveQueryEvent(target, handler, validator) { register('trigger', 'afterEvent', classOf(target), handler, validator); },
    onLiveQueryEvent() { host.missing('Parse.Cloud.onLiveQueryEvent', ''); },

    run(name, data, options = {}) {
      if (typeof name !== 'string' || name === '') return Promise.reject(new TypeError('Cloud function name must be a string.'));
      return rest.request('POST', `functions/${rest.segment(name)}`, encode(data || {}, true), options).then(answer => decode(answer).result);
    },
    startJob(name, data, options = {}) {
      if (typeof name !== 'string' || name === '') return Promise.reject(new TypeError('Cloud job name must be a string.'));
      return rest.send('POST', `jobs/${rest.segment(name)}`, encode(data || {}, true), { ...options, useMasterKey: true })
        .then(answer => answer.headers['x-parse-job-status-id']);
    },
    getJobStatus: id => new (internal('parse/query'))('_JobStatus').get(id, { useMasterKey: true }),
    getJobsData: (options = {}) => rest.request('GET', 'cloud_code/jobs/data', {}, { ...options, useMasterKey: true }),
    useMasterKey() {
      console.warn('Parse.Cloud.useMasterKey does nothing; give { useMasterKey: true } with each request');
    },
    // By the server's queue; its own address is the sender's.
    async sendEmail({ to, subject, text, html, from } = {}) {
      if (from !== undefined) console.warn('Parse.Cloud.sendEmail: mail comes from the address of the option email.from');
      for (const address of Array.isArray(to) ? to : [to]) {
        const { outcome } = await rest.request('MAIL', '', { to: address, subject, text, html }, { useMasterKey: true });
        if (outcome === 'unmailable') throw new ParseError(ParseError.INVALID_EMAIL_ADDRESS, `Mail cannot go to ${address}.`);
        if (outcome === 'dropped') throw new ParseError(ParseError.REQUEST_LIMIT_EXCEEDED, `Too many mails to ${address} within an hour.`);
      }
    },
    _handler: (sort, name, className) => handlers.get(keyOf(sort, name, className)),
  };
  for (const name of ['beforeSave', 'afterSave', 'beforeDelete', 'afterDelete', 'beforeFind', 'afterFind']) {
    Cloud[name] = (target, handler, validator) => register('trigger', name, classOf(target), handler, validator);
  }
  for (const [name, className] of [['beforeLogin', '_User'], ['afterLogin', '_User'], ['afterLogout', '_Session'],
    ['beforePasswordResetRequest', '_User'], ['accountExport', '_User']]) {
    Cloud[name] = (target, handler, validator) => {
      const isNamed = typeof target === 'string' || (target && typeof target.className === 'string' && typeof handler === 'function');
      if (isNamed && classOf(target) !== className) throw new Error(`${name} is allowed for the ${className} class only`);
      const [body, check] = isNamed ? [handler, validator] : [target, handler];
      register('trigger', name, className, body, check);
    };
  }
  module.exports = Cloud;
})
