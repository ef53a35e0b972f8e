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
  const { require } = internal('modules');
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
  return {
    load: entry(file => { require.main(file); }),
    start: entry(calls.start),
    forget: entry(calls.forget),
    tick: entry(timers.tick),
    deliver: entry(deliver),
    refuse: entry(refuse),
    fetched: entry(fetched),
    rejected: (promise, reason) => host.log('error', `unhandled rejection: ${inspect(reason)}`),
  };
})
