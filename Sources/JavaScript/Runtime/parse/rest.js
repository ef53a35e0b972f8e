// Requests to the API of the server that this code runs in.
(function (internal, module, host) {
  'use strict';
  const turn = internal('turn');
  const ParseError = internal('parse/error');
  const waiting = new Map();
  const configuration = host.configuration();
  // Batches name their parts with the mount path.
  const mountPath = configuration.serverURL.replace(/^[a-z]+:\/\/[^/]*/, '').replace(/\/*$/, '/');
  let last = 0;

  // By whose rights: nobody's unless the options say so, whoever called the code.
  function rights({ useMasterKey, sessionToken } = {}) {
    if (useMasterKey) return ['master', ''];
    const token = sessionToken && typeof sessionToken.getSessionToken === 'function' ? sessionToken.getSessionToken() : sessionToken;
    if (token === undefined || token === null || token === '') return ['nobody', ''];
    return ['session', String(token)];
  }

  // What the server answers: { status, body, headers }; an error of its is a Parse.Error.
  function send(method, path, body = {}, options = {}) {
    options ||= {};
    return new Promise((resolve, reject) => {
      const [authority, token] = rights(options);
      const number = ++last;
      waiting.set(number, { resolve, reject });
      host.send(number, turn.owner, method, path, JSON.stringify(body), authority, token,
        options.context ? JSON.stringify(options.context) : undefined, options.installationId || 'cloud');
    });
  }
  const request = (method, path, body, options) => send(method, path, body, options).then(answer => answer.body);

  // Keeps a job's message.
  function report(message) {
    return new Promise((resolve, reject) => {
      const number = ++last;
      waiting.set(number, { resolve, reject });
      host.report(number, message);
    });
  }

  function take(number) {
    const entry = waiting.get(number);
    waiting.delete(number);
    return entry;
  }
  function deliver(number, status, body, headers = {}) {
    const entry = take(number);
    if (!entry) return;
    if (status >= 400) {
      const { code, error } = body || {};
      entry.reject(new ParseError(code === undefined ? ParseError.OTHER_CAUSE : code, error));
      return;
    }
    entry.resolve({ status, body, headers });
  }
  function refuse(number, code, message) {
    const entry = take(number);
    if (entry) entry.reject(new ParseError(code, message));
  }

  const segment = text => encodeURIComponent(text);
  module.exports = { send, request, report, deliver, refuse, segment, mountPath, configuration };
})
