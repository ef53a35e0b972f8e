// Parse.User. In cloud code nobody is logged in: who calls is the request's user.
(function (internal, module) {
  'use strict';
  const ParseObject = internal('parse/object');
  const ParseError = internal('parse/error');
  const rest = internal('parse/rest');

  class ParseUser extends ParseObject {
    constructor(attributes) { super('_User', typeof attributes === 'string' ? undefined : attributes); }

    getUsername() { return this.get('username') ?? null; }
    setUsername(name) { this.set('username', name); }
    setPassword(password) { this.set('password', password); }
    getEmail() { return this.get('email') ?? null; }
    setEmail(email) { return this.set('email', email); }
    getSessionToken() { return this.get('sessionToken'); }
    // Only the current user is, and there is none.
    authenticated() { return false; }
    isCurrent() { return false; }
    async isCurrentAsync() { return false; }
    stripAnonymity() {
      const data = this.get('authData');
      if (data && typeof data === 'object' && 'anonymous' in data) this.set('authData', { ...data, anonymous: null });
    }

    // Saves that go to /users: sign-up keeps the password out of what is held.
    _handleSaveResponse(json, status) {
      super._handleSaveResponse(json, status);
      delete this._server.password;
    }
    _finishFetch(json) {
      super._finishFetch(json);
      delete this._server.password;
    }

    async signUp(attributes, options) {
      if (attributes) this.set(attributes);
      if (!this.get('username')) throw new ParseError(ParseError.OTHER_CAUSE, 'Cannot sign up user with an empty username.');
      if (!this.get('password')) throw new ParseError(ParseError.OTHER_CAUSE, 'Cannot sign up user with an empty password.');
      return this.save(null, options);
    }
    async logIn(options = {}) {
      const body = { username: this.get('username'), password: this.get('password') };
      return this._take(await rest.request('POST', 'login', body, options));
    }
    _take(json) {
      this._clearPendingOps();
      this._finishFetch(json);
      this._setExisted(true);
      return this;
    }
    async linkWith(provider, { authData } = {}, options = {}) {
      const name = typeof provider === 'string' ? provider : provider.getAuthType();
      this.set('authData', { ...(this.get('authData') || {}), [name]: authData });
      return this.save(null, options);
    }
    _unlinkFrom(provider, options) {
      return this.linkWith(provider, { authData: null }, options);
    }
    _isLinked(provider) {
      const data = this.get('authData') || {};
      return Boolean(data[typeof provider === 'string' ? provider : provider.getAuthType()]);
    }
    async verifyPassword(password, options) { return ParseUser.verifyPassword(this.getUsername() || '', password, options); }

    static get className() { return '_User'; }
    // There is one class of users: this gives it more.
    static extend(methods, statics) {
      for (const [owner, more] of [[ParseUser.prototype, methods], [ParseUser, statics]]) {
        for (const [key, one] of Object.entries(Object.getOwnPropertyDescriptors(more || {}))) {
          if (key !== 'className') Object.defineProperty(owner, key, { ...one, enumerable: false, configurable: true });
        }
      }
      return ParseUser;
    }
    static current() { return null; }
    static async currentAsync() { return null; }
    static enableUnsafeCurrentUser() { throw new Error('Parse.User.enableUnsafeCurrentUser: cloud code has no current user'); }
    static disableUnsafeCurrentUser() {}
    static enableRevocableSession() { return Promise.resolve(); }
    static allowCustomUserClass() {}
    static signUp(username, password, attributes, options) {
      const user = new (userClass())();
      user.set({ ...attributes, username, password });
      return user.signUp(null, options);
    }
    static async logIn(username, password, options) {
      if (typeof username !== 'string') throw new ParseError(ParseError.OTHER_CAUSE, 'Username must be a string.');
      if (typeof password !== 'string') throw new ParseError(ParseError.OTHER_CAUSE, 'Password must be a string.');
      const user = new (userClass())();
      user.set({ username, password });
      return user.logIn(options);
    }
    static async logInWithAdditionalAuth(username, password, authData, options) {
      return fresh(await rest.request('POST', 'login', { username, password, authData }, options));
    }
    static async logInWith(provider, { authData } = {}, options = {}) {
      const name = typeof provider === 'string' ? provider : provider.getAuthType();
      const user = new (userClass())();
      user.set('authData', { [name]: authData });
      return user.save(null, options);
    }
    static async loginAs(userId, options) {
      if (!userId) throw new ParseError(ParseError.USERNAME_MISSING, 'Cannot log in as user with an empty user id');
      return fresh(await rest.request('POST', 'loginAs', { userId }, { useMasterKey: true, ...options }));
    }
    static async me(sessionToken, options = {}) { return fresh(await rest.request('GET', 'users/me', {}, { ...options, sessionToken })); }
    static async become(sessionToken, options = {}) { return ParseUser.me(sessionToken, options); }
    static hydrate(json) { return Promise.resolve(fresh(json)); }
    static async logOut(options = {}) { if (options.sessionToken) await rest.request('POST', 'logout', {}, options); }
    static async requestPasswordReset(email, options) { return rest.request('POST', 'requestPasswordReset', { email }, options); }
    static async requestEmailVerification(email, options) { return rest.request('POST', 'verificationEmailRequest', { email }, options); }
    static async verifyPassword(username, password, options = {}) {
      const body = { username, password };
      if (options.ignoreEmailVerification !== undefined) body.ignoreEmailVerification = options.ignoreEmailVerification;
      return fresh(await rest.request('GET', 'verifyPassword', body, options));
    }
    static _registerAuthenticationProvider() {}
  }

  const userClass = () => ParseObject._classOf('_User');
  const fresh = json => new (userClass())()._take(json);

  ParseObject.registerSubclass('_User', ParseUser);
  module.exports = ParseUser;
})
