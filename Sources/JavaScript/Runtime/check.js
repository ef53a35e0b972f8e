// `hermes cloud check`: the application's files are loaded and read without stopping at what is missing, so that one
// run tells it all.
(function (internal, module, host) {
  'use strict';
  const { read, lineAt } = internal('source');
  const isOn = host.configuration().checks === true;
  const examined = new Set();
  // What the application puts on Parse by itself.
  const given = new Set();
  const advice = {
    'Parse.Promise': 'use Promise',
    'Parse.Cloud.httpRequest': 'use fetch',
    ...Object.fromEntries(['beforeSave', 'afterSave', 'beforeDelete', 'afterDelete'].map(name => [
      `Parse.Cloud.${name}File`, `use Parse.Cloud.${name}(Parse.File, …)`])),
    'Parse.Cloud.useMasterKey': 'it does nothing; give { useMasterKey: true } with each request',
  };

  // Stands where something is missing: whatever is done with it, the code goes on.
  function standIn() {
    return new Proxy(function () {}, {
      get: (target, key) => {
        if (key === 'prototype') return target.prototype;
        if (key === Symbol.toPrimitive) return () => '';
        if (key === Symbol.iterator) return function* () {};
        return key === 'then' || key === '__esModule' ? undefined : standIn();
      },
      apply: standIn,
      construct: standIn,
      set: () => true,
    });
  }

  // Parse, with something behind every name.
  function lenient(parse) {
    const forgiving = (target, own = {}) => new Proxy(target, {
      get: (object, key) => (key in own ? own[key] : key in object || typeof key === 'symbol' ? object[key] : standIn()),
    });
    return forgiving(parse, { Cloud: forgiving(parse.Cloud) });
  }

  // What the text of one of the application's files uses. `need` is told of each module, by its name and its place.
  function examine(file, text, need) {
    if (examined.has(file)) return;
    examined.add(file);
    const { code, quoted } = read(text);
    const placeOf = index => `${file}:${lineAt(text, index)}`;
    for (const match of code.matchAll(/(?<![\w$.])(?:(?:require|import)\s*\(\s*|(?:from|import)\s*)["']/g)) {
      const { value, end } = quoted.get(match.index + match[0].length - 1);
      // A name that is put together is known only when the code runs.
      if (!match[0].includes('(') || /^\s*[,)]/.test(code.slice(end))) need(value, placeOf(match.index));
    }
    const names = [...code.matchAll(/(?<![\w$.])Parse\s*\.\s*([\w$]+)(?:\s*\.\s*([\w$]+))?(\s*=(?![=>]))?/g)];
    for (const [, name, member, isGiven] of names) if (isGiven) given.add(member ? `${name}.${member}` : name);
    for (const match of names) {
      const lack = lacking(match[1], match[2]);
      if (lack) host.missing(advice[lack] ? `${lack}: ${advice[lack]}` : lack, placeOf(match.index));
    }
    for (const match of code.matchAll(/(?<![\w$.])success\s*(?::\s*(?:async\s*)?(?:function\b|\([^()]*\)\s*=>|[\w$]+\s*=>)|\([\w$\s,]*\)\s*\{)/g)) {
      host.missing('callback "success": what is asked of Parse answers a promise', placeOf(match.index));
    }
  }

  function lacking(name, member) {
    const { Parse } = globalThis;
    if (given.has(name) || given.has(`${name}.${member}`)) return undefined;
    if (!(name in Parse)) return `Parse.${name}`;
    const value = Parse[name];
    const full = `Parse.${name}.${member}`;
    if (member === undefined || value === null || !['object', 'function'].includes(typeof value)) return undefined;
    return member in value && full !== 'Parse.Cloud.useMasterKey' ? undefined : full;
  }

  // Where the application's own code stands now.
  function ownPlace() {
    const line = String(new Error().stack).split('\n').find(one => /@\//.test(one)) || '';
    const [, place = ''] = /@(\/.*:\d+):\d+$/.exec(line) || [];
    return place;
  }

  // What a handler expects of its caller and does not get. A rule for a class that can't be would protect nothing.
  function checkHandler(sort, name, className, handler) {
    if (sort === 'trigger' && !/^[@_]?[A-Za-z][\w:]*$/.test(className)) {
      host.missing(`class "${className}" of ${name}: there can be none of that name`, ownPlace());
    }
    if (!isOn || sort === 'function' || handler.length < 2) return;
    host.missing(`second parameter of ${`${name} ${className}`.trim()}: throw to refuse, return to go on`, ownPlace());
  }

  // A file threw while it was loaded.
  function tellEnd(error, place) {
    const [line] = String(error.message).split('\n');
    host.missing(`what follows, for the file ends here with ${error.name}: ${line.length > 200 ? `${line.slice(0, 200)}…` : line}`, place);
  }

  module.exports = { isOn, standIn, lenient, examine, checkHandler, tellEnd };
})
