// The first script of an isolate. It is given the host's functions, brings the runtime's scripts together, and answers
// the functions by which the host enters: each takes the number of the call that the event belongs to, its owner.
(function (host) {
  'use strict';
  const loaded = new Map();

  // One of the runtime's own scripts: (internal, module, host) => what it leaves in module.exports.
  function internal(name) {
    let module = loaded.get(name);
    if (!module) {
      const script = host.script(name);
      if (!script) throw new Error(`the runtime has no script ${name}`);
      module = { exports: {} };
      loaded.set(name, module);
      script(internal, module, host);
    }
    return module.exports;
  }

  const turn = internal('turn');
  internal('globals');
  const timers = internal('node/timers');
  const { require, placeOf } = internal('modules');
  const { deliver, refuse } = internal('parse/rest');
  const { fetched } = internal('web/fetch');
  const calls = internal('calls');
  const { inspect } = internal('node/util');
  const check = internal('check');
  globalThis.Parse = internal('parse');
  if (check.isOn) globalThis.Parse = check.lenient(globalThis.Parse);

  const entry = body => (owner, ...rest) => {
    turn.owner = owner;
    body(...rest);
  };
  const rejected = (promise, reason) => host.log('error', `unhandled rejection: ${inspect(reason)}`);
  let isLoaded = false;
  let mainFile;
  let failure;
  return {
    load: entry(file => {
      mainFile = file;
      const waited = require.main(file);
      if (waited) waited.catch(error => { if (isLoaded) rejected(waited, error); else failure = { error }; });
    }),
    // What needed no more than its own promises has come to its end by now.
    loaded: entry(() => {
      isLoaded = true;
      if (failure && check.isOn) check.tellEnd(failure.error, placeOf(failure.error) || mainFile);
      else if (failure) throw failure.error;
    }),
    start: entry(calls.start),
    forget: entry(calls.forget),
    tick: entry(timers.tick),
    deliver: entry(deliver),
    refuse: entry(refuse),
    fetched: entry(fetched),
    rejected,
  };
})
