// What a handler asks of its caller before it runs: a function of its own, or an object that says it.
(function (internal, module) {
  'use strict';
  const ParseError = internal('parse/error');

  const refuse = sentence => { throw new ParseError(ParseError.VALIDATION_ERROR, sentence); };

  async function validate(validator, request) {
    if (!validator) return;
    if (typeof validator === 'function') {
      try { await validator(request); } catch (error) { throw refused(error); }
      return;
    }
    // The house needs no asking, unless the validator says otherwise.
    if (request.master && !validator.validateMasterKey) return;
    await check(validator, request);
  }

  // What a validator throws, as the client is told.
  function refused(error) {
    if (error instanceof ParseError) return error;
    const message = typeof error === 'string' ? error : error && error.message;
    return new ParseError(ParseError.VALIDATION_ERROR, message || 'Validation failed.');
  }

  async function check(validator, request) {
    let user = request.user;
    if (!user && request.object && request.object.className === '_User' && !request.object.existed()) user = request.object;
    const rolesWanted = validator.requireAnyUserRoles || validator.requireAllUserRoles;
    if ((validator.requireUser || rolesWanted) && !user) refuse('Validation failed. Please login to continue.');
    if (validator.requireMaster && !request.master) refuse('Validation failed. Master key is required to complete this request.');
    await fields(validator.fields, request);
    await roles(validator, user);
    await userKeys(validator.requireUserKeys, user);
  }

  // A function's are its parameters, a hook's those of its object.
  async function fields(wanted, request) {
    const given = request.params || (request.object ? request.object.toJSON() : {});
    const value = key => given[key];
    if (Array.isArray(wanted)) {
      for (const key of wanted) if (missing(value(key))) refuse(`Validation failed. Please specify data for ${key}.`);
      return;
    }
    for (const key of Object.keys(wanted || {})) {
      const rule = wanted[key];
      if (typeof rule === 'string') {
        if (missing(value(key))) refuse(`Validation failed. Please specify data for ${key}.`);
        continue;
      }
      if (rule === null || typeof rule !== 'object') continue;
      if (rule.default !== undefined && missing(value(key))) put(request, key, given, rule.default);
      if (rule.constant && request.object) constant(request, key, given, rule);
      if (rule.required && missing(given[key])) refuse(`Validation failed. Please specify data for ${key}.`);
      const isOptional = !rule.required && given[key] === undefined;
      if (isOptional) continue;
      if (rule.type) {
        const type = nameOf(rule.type);
        if (kindOf(given[key]) !== type) refuse(`Validation failed. Invalid type for ${key}. Expected: ${type}`);
      }
      if (rule.options) await option(rule, key, given[key]); // eslint-disable-line no-await-in-loop
    }
  }

  function put(request, key, given, value) {
    given[key] = value;
    if (request.object) request.object.set(key, value);
  }

  // A field that keeps what it was, or its default.
  function constant(request, key, given, rule) {
    if (request.original) put(request, key, given, request.original.get(key));
    else if (rule.default !== undefined) put(request, key, given, rule.default);
  }

  async function option(rule, key, value) {
    let { options } = rule;
    if (typeof options === 'function') {
      const otherwise = rule.error || `Validation failed. Invalid value for ${key}.`;
      let result;
      try { result = await options(value); } catch (error) { refuse(rule.error || (error && error.message) || error || otherwise); }
      if (!result && !missing(result)) refuse(otherwise);
      return;
    }
    options = [].concat(options);
    if (!options.includes(value)) refuse(rule.error || `Validation failed. Invalid option for ${key}. Expected: ${options.join(', ')}`);
  }

  async function roles({ requireAnyUserRoles, requireAllUserRoles }, user) {
    if (!requireAnyUserRoles && !requireAllUserRoles) return;
    const list = async wanted => [].concat((typeof wanted === 'function' ? await wanted() : wanted) || []);
    const any = await list(requireAnyUserRoles);
    const all = await list(requireAllUserRoles);
    const held = await rolesOf(user);
    if (requireAnyUserRoles && !any.some(name => held.has(name))) refuse('Validation failed. User does not match the required roles.');
    if (requireAllUserRoles && !all.every(name => held.has(name))) {
      refuse('Validation failed. User does not match all the required roles.');
    }
  }

  // The roles of a user, and those that these belong to in turn.
  async function rolesOf(user) {
    const Query = internal('parse/query');
    const { Role } = internal('parse/accounts');
    const held = new Set();
    const house = { useMasterKey: true };
    let found = await new Query(Role).equalTo('users', user).findAll(house);
    while (found.length > 0) {
      found.forEach(role => held.add(role.getName()));
      // eslint-disable-next-line no-await-in-loop
      const above = await Promise.all(found.map(role => new Query(Role).equalTo('roles', role).findAll(house)));
      found = above.flat().filter(role => !held.has(role.getName()));
    }
    return held;
  }

  async function userKeys(wanted, user) {
    if (!wanted) return;
    if (!user) refuse('Please login to make this request.');
    if (Array.isArray(wanted)) {
      for (const key of wanted) if (missing(user.get(key))) refuse(`Validation failed. Please set data for ${key} on your account.`);
      return;
    }
    for (const key of Object.keys(wanted)) {
      if (wanted[key].options) await option(wanted[key], key, user.get(key)); // eslint-disable-line no-await-in-loop
    }
  }

  const missing = value => value === undefined || value === null;
  const nameOf = type => (typeof type === 'function' ? /^\s*(?:function|class)\s*(\w*)/.exec(String(type))[1] : String(type)).toLowerCase();
  const kindOf = value => (Array.isArray(value) ? 'array' : typeof value);

  module.exports = { validate };
})
