// What cloud code knows as Parse.
(function (internal, module) {
  'use strict';
  const { GeoPoint, Polygon, ACL } = internal('parse/values');
  const { encode, decode } = internal('parse/encode');
  const rest = internal('parse/rest');
  const ops = internal('parse/ops');
  const ParseObject = internal('parse/object');
  const { Role, Session, Installation } = internal('parse/accounts');

  const Parse = {
    Object: ParseObject,
    User: internal('parse/user'),
    Role, Session, Installation,
    Query: internal('parse/query'),
    ACL, GeoPoint, Polygon,
    Relation: internal('parse/relation'),
    File: internal('parse/file'),
    Config: internal('parse/config'),
    Error: internal('parse/error'),
    Cloud: internal('parse/cloud'),
    Op: { Set: ops.SetOp, Unset: ops.UnsetOp, Increment: ops.IncrementOp, Add: ops.AddOp, AddUnique: ops.AddUniqueOp, Remove: ops.RemoveOp,
      Relation: ops.RelationOp },
    Push: {
      send: (data, options = {}) => rest.send('POST', 'push', JSON.parse(JSON.stringify(data, (key, value) => (
        key === 'where' && value instanceof internal('parse/query') ? value.toJSON().where : value))), { useMasterKey: true, ...options })
        .then(answer => answer.headers['x-parse-push-status-id']),
      getPushStatus: (id, options = {}) => new Parse.Query('_PushStatus').get(id, { useMasterKey: true, ...options }),
    },
    Schema: internal('parse/schema'),
    // What a validator's rateLimit names its zone by.
    Server: { RateLimitZone: Object.freeze({ global: 'global', session: 'session', user: 'user', ip: 'ip' }) },
    // Whether somebody logs in so; linking is the clients' affair.
    AnonymousUtils: { isLinked: user => user._isLinked('anonymous') },
    FacebookUtils: { isLinked: user => user._isLinked('facebook') },
    Analytics: { track: () => Promise.resolve() },
    applicationId: rest.configuration.applicationId,
    masterKey: rest.configuration.masterKey,
    javaScriptKey: undefined,
    serverURL: rest.configuration.serverURL,
    initialize() {},
    isLocalDatastoreEnabled: () => false,
    _encode: (value, _, disallowObjects) => encode(value, disallowObjects),
    _decode: (_, value) => decode(value),
    _getInstallationId: () => Promise.resolve('cloud'),
    CoreManager: { get: name => ({ SERVER_URL: Parse.serverURL, APPLICATION_ID: Parse.applicationId })[name], set() {} },
  };
  module.exports = Parse;
})
