// Parse.Role, Parse.Session, Parse.Installation.
(function (internal, module) {
  'use strict';
  const ParseObject = internal('parse/object');
  const ParseError = internal('parse/error');
  const { ACL } = internal('parse/values');
  const rest = internal('parse/rest');

  class Role extends ParseObject {
    constructor(name, acl) {
      super('_Role');
      // From the server's answers it is made with the name of its class.
      if (typeof name === 'string' && (name !== '_Role' || acl instanceof ACL)) {
        this.setName(name);
        if (acl instanceof ACL) this.setACL(acl);
      }
    }
    getName() { return this.get('name') ?? null; }
    setName(name, options) { return this.set('name', name, options); }
    getUsers() { return this.relation('users'); }
    getRoles() { return this.relation('roles'); }
    validate(changes, options) {
      const fault = super.validate(changes, options);
      if (fault) return fault;
      if ('name' in changes && changes.name !== this.getName()) {
        if (this.id) return new ParseError(ParseError.OTHER_CAUSE, 'A role\'s name can only be set before it has been saved.');
        if (typeof changes.name !== 'string') return new ParseError(ParseError.OTHER_CAUSE, 'A role\'s name must be a String.');
        if (!/^[0-9a-zA-Z\-_ ]+$/.test(changes.name)) {
          return new ParseError(ParseError.OTHER_CAUSE, 'A role\'s name can be only contain alphanumeric characters, _, -, and spaces.');
        }
      }
      return false;
    }
    static get className() { return '_Role'; }
  }

  class Session extends ParseObject {
    constructor(attributes) { super('_Session', typeof attributes === 'string' ? undefined : attributes); }
    getSessionToken() { return this.get('sessionToken') ?? ''; }
    static get className() { return '_Session'; }
    static readOnlyAttributes() { return ['createdWith', 'expiresAt', 'installationId', 'restricted', 'sessionToken', 'user']; }
    static async current(options = {}) {
      return ParseObject.fromJSON({ ...(await rest.request('GET', 'sessions/me', {}, options)), className: '_Session' });
    }
    static isCurrentSessionRevocable() { return false; }
  }

  const text = (name, method) => ({ [`get${method}`]() { return this.get(name); }, [`set${method}`](value) { this.set(name, value); } });
  class Installation extends ParseObject {
    constructor(attributes) { super('_Installation', typeof attributes === 'string' ? undefined : attributes); }
    static get className() { return '_Installation'; }
    static currentInstallation() { return Promise.resolve(null); }
    static get DEVICE_TYPES() { return { IOS: 'ios', MACOS: 'macos', TVOS: 'tvos', FCM: 'fcm', ANDROID: 'android', WEB: 'web' }; }
  }
  for (const [name, method] of [['deviceType', 'DeviceType'], ['deviceToken', 'DeviceToken'], ['pushType', 'PushType'],
    ['installationId', 'InstallationId'], ['timeZone', 'TimeZone'], ['localeIdentifier', 'LocaleIdentifier'], ['badge', 'Badge'],
    ['GCMSenderId', 'GCMSenderId'], ['appName', 'AppName'], ['appVersion', 'AppVersion'], ['appIdentifier', 'AppIdentifier'],
    ['channels', 'Channels'], ['parseVersion', 'ParseVersion']]) Object.assign(Installation.prototype, text(name, method));

  ParseObject.registerSubclass('_Role', Role);
  ParseObject.registerSubclass('_Session', Session);
  ParseObject.registerSubclass('_Installation', Installation);
  module.exports = { Role, Session, Installation };
})
