// URL and URLSearchParams, as the URL Standard has them, for what servers meet: http, https, ws, wss, ftp and file with
// hosts of letters, digits and IP addresses, names in other scripts by way of Punycode; other schemes as plain paths.
(function (internal, module) {
  'use strict';
  const { encode, decode } = internal('web/encoding');
  const ports = { 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443', 'ftp:': '21', 'file:': '' };

  const hex = byte => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  // Encodes what is not ASCII, what is a control, and the marks given.
  function escape(text, marks) {
    let result = '';
    for (const letter of text) {
      const code = letter.codePointAt(0);
      result += code > 0x20 && code < 0x7f && !marks.includes(letter) ? letter : Array.from(encode(letter), hex).join('');
    }
    return result;
  }
  function unescape(text) {
    if (!text.includes('%')) return text;
    const bytes = encode(text);
    const out = new Uint8Array(bytes.length);
    let size = 0;
    for (let i = 0; i < bytes.length; i++) {
      const pair = bytes[i] === 0x25 ? String.fromCharCode(bytes[i + 1], bytes[i + 2]) : '';
      if (/^[0-9a-fA-F]{2}$/.test(pair)) {
        out[size++] = parseInt(pair, 16);
        i += 2;
      } else {
        out[size++] = bytes[i];
      }
    }
    return decode(out.subarray(0, size));
  }
  const marks = { user: '"#<>?`{}/:;=@[\\]^|', path: '"#<>?`{}^', query: '"#<>', special: '"#<>\'', hash: '"<>`' };

  // RFC 3492, for one label.
  function punycode(label) {
    if (/^[\0-\x7f]*$/.test(label)) return label;
    const points = Array.from(label, letter => letter.codePointAt(0));
    let output = points.filter(point => point < 128).map(point => String.fromCharCode(point)).join('');
    const basic = output.length;
    let handled = basic;
    if (basic > 0) output += '-';
    let n = 128, delta = 0, bias = 72;
    const digit = value => String.fromCharCode(value < 26 ? value + 97 : value + 22);
    while (handled < points.length) {
      const next = Math.min(...points.filter(point => point >= n));
      delta += (next - n) * (handled + 1);
      n = next;
      for (const point of points) {
        if (point < n) delta++;
        if (point !== n) continue;
        let q = delta;
        for (let k = 36; ; k += 36) {
          const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
          if (q < t) break;
          output += digit(t + ((q - t) % (36 - t)));
          q = Math.floor((q - t) / (36 - t));
        }
        output += digit(q);
        delta = handled === basic ? Math.floor(delta / 700) : Math.floor(delta / 2);
        delta += Math.floor(delta / (handled + 1));
        let k = 0;
        for (; delta > 455; k += 36) delta = Math.floor(delta / 35);
        bias = k + Math.floor((36 * delta) / (delta + 38));
        delta = 0;
        handled++;
      }
      delta++;
      n++;
    }
    return `xn--${output}`;
  }

  function ipv4(host) {
    const parts = host.replace(/\.$/, '').split('.');
    if (!/^(\d+|0[xX][0-9a-fA-F]*)$/.test(parts.at(-1))) return undefined;
    const numbers = parts.map(part => (/^0[xX][0-9a-fA-F]*$/.test(part) ? parseInt(part.slice(2) || '0', 16)
      : /^0[0-7]+$/.test(part) ? parseInt(part, 8) : /^\d+$/.test(part) ? parseInt(part, 10) : NaN));
    const last = numbers.pop();
    if (numbers.length > 3 || numbers.some(number => !(number <= 255)) || !(last < 256 ** (4 - numbers.length))) return null;
    const whole = numbers.reduce((sum, number, index) => sum + number * 256 ** (3 - index), last);
    return [3, 2, 1, 0].map(power => Math.floor(whole / 256 ** power) % 256).join('.');
  }

  function ipv6(text) {
    let address = text;
    const four = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
    if (four) {
      const [a, b, c, d] = four.slice(2).map(Number);
      if ([a, b, c, d].some(number => number > 255)) return null;
      address = `${four[1]}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
    }
    const halves = address.split('::');
    if (halves.length > 2) return null;
    const pieces = half => (half === '' ? [] : half.split(':'));
    const before = pieces(halves[0]);
    const after = halves.length === 2 ? pieces(halves[1]) : [];
    const missing = 8 - before.length - after.length;
    if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
    const all = [...before, ...Array(halves.length === 2 ? missing : 0).fill('0'), ...after];
    if (!all.every(piece => /^[0-9a-fA-F]{1,4}$/.test(piece))) return null;
    const words = all.map(piece => parseInt(piece, 16).toString(16));
    let best = { start: -1, length: 1 };
    for (let i = 0; i < 8; i++) {
      let length = 0;
      while (i + length < 8 && words[i + length] === '0') length++;
      if (length > best.length) best = { start: i, length };
    }
    if (best.start < 0) return `[${words.join(':')}]`;
    return `[${words.slice(0, best.start).join(':')}::${words.slice(best.start + best.length).join(':')}]`;
  }

  // The host as it is written in a URL; null for none that can be.
  function hostOf(text, special) {
    if (text.startsWith('[')) return text.endsWith(']') ? ipv6(text.slice(1, -1)) : null;
    if (!special) return /[\0\t\n\r #/<>?@[\\\]^|]/.test(text) ? null : escape(text, '');
    const name = unescape(text).normalize('NFKC').toLowerCase().replaceAll(/[。．｡]/g, '.').split('.').map(punycode).join('.');
    if (name === '' || /[\0-\x20#%/:<>?@[\\\]^`{|}\x7f]/.test(name)) return null;
    const address = ipv4(name);
    return address === undefined ? name : address;
  }

  function pathOf(text, special) {
    const segments = [];
    const parts = (special ? text.replaceAll('\\', '/') : text).split('/');
    parts.forEach((part, index) => {
      const isLast = index === parts.length - 1;
      const plain = part.replaceAll(/%2e/gi, '.');
      if (plain === '..') {
        segments.pop();
        if (isLast) segments.push('');
      } else if (plain === '.') {
        if (isLast) segments.push('');
      } else {
        segments.push(escape(part, marks.path));
      }
    });
    return `/${segments.join('/')}`;
  }

  function parse(text, base) {
    text = text.replace(/^[\0-\x20]+|[\0-\x20]+$/g, '').replaceAll(/[\t\n\r]/g, '');
    const url = { protocol: '', username: '', password: '', host: null, port: '', path: '', query: null, hash: null, opaque: false };
    const cut = mark => {
      const at = text.indexOf(mark);
      if (at < 0) return null;
      const rest = text.slice(at + 1);
      text = text.slice(0, at);
      return rest;
    };
    const hash = cut('#');
    if (hash !== null) url.hash = escape(hash, marks.hash);
    const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(text);
    const isRelativeTo = base && scheme && scheme[1].toLowerCase() + ':' === base.protocol && base.protocol in ports
      && !/^[/\\]{2}/.test(text.slice(scheme[0].length));
    if (scheme && !isRelativeTo) {
      url.protocol = scheme[1].toLowerCase() + ':';
      text = text.slice(scheme[0].length);
    } else {
      if (!base) return null;
      if (isRelativeTo) text = text.slice(scheme[0].length);
      if (base.opaque && !(text === '' && hash !== null)) return null;
      url.protocol = base.protocol;
    }
    const special = url.protocol in ports;
    const query = cut('?');
    if (query !== null) url.query = escape(query, special ? marks.special : marks.query);
    const slashes = special ? /^[/\\]{2,}/ : /^\/\//;
    const isAbsolute = Boolean(scheme) && !isRelativeTo;
    if (slashes.test(text) || (special && isAbsolute && url.protocol !== 'file:')) {
      let rest = text.replace(special ? /^[/\\]*/ : /^\/\//, '');
      if (url.protocol === 'file:') rest = text.slice(2);
      const end = rest.search(special ? /[/\\]/ : /\//);
      let authority = end < 0 ? rest : rest.slice(0, end);
      const path = end < 0 ? '' : rest.slice(end + 1);
      const at = authority.lastIndexOf('@');
      if (at >= 0) {
        const [user, ...words] = authority.slice(0, at).split(':');
        url.username = escape(user, marks.user);
        url.password = escape(words.join(':'), marks.user);
        authority = authority.slice(at + 1);
      }
      const port = /:(\d*)$/.exec(authority);
      if (port) {
        if (Number(port[1]) > 65535) return null;
        url.port = port[1] === '' || String(Number(port[1])) === ports[url.protocol] ? '' : String(Number(port[1]));
        authority = authority.slice(0, -port[0].length);
      }
      if (authority === '' && url.protocol === 'file:') url.host = '';
      else if (authority === '' && !special) url.host = '';
      else url.host = hostOf(authority, special);
      if (url.host === null) return null;
      url.path = special || end >= 0 ? pathOf(path, special) : '';
      return url;
    }
    if (isAbsolute) {
      if (url.protocol === 'file:') {
        url.host = '';
        url.path = pathOf(text.replace(/^[/\\]/, ''), true);
      } else if (text.startsWith('/')) {
        url.path = pathOf(text.slice(1), false);
      } else {
        url.opaque = true;
        url.path = escape(text, '');
      }
      return url;
    }
    Object.assign(url, { username: base.username, password: base.password, host: base.host, port: base.port, opaque: base.opaque });
    if (text === '') {
      url.path = base.path;
      if (query === null) url.query = base.query;
    } else if (/^[/\\]/.test(text) && (special || text.startsWith('/'))) {
      url.path = pathOf(text.slice(1), special);
    } else {
      url.path = pathOf(base.path.replace(/[^/]*$/, '').slice(1) + text, special);
    }
    return url;
  }

  function format(url) {
    const credentials = url.username || url.password ? `${url.username}${url.password ? `:${url.password}` : ''}@` : '';
    const authority = url.host === null ? '' : `//${credentials}${url.host}${url.port ? `:${url.port}` : ''}`;
    return url.protocol + authority + url.path + (url.query === null ? '' : `?${url.query}`) + (url.hash === null ? '' : `#${url.hash}`);
  }

  const formEncode = text => Array.from(encode(String(text).toWellFormed()), byte => (byte === 0x20 ? '+'
    : /[A-Za-z0-9*\-._]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : hex(byte))).join('');

  class URLSearchParams {
    #pairs = [];
    #changed = () => {};
    constructor(init = '', changed) {
      if (changed) this.#changed = changed;
      if (init instanceof URLSearchParams) {
        this.#pairs = [...init];
      } else if (init !== null && typeof init === 'object') {
        const pairs = typeof init[Symbol.iterator] === 'function' ? init : Object.entries(init);
        this.#pairs = Array.from(pairs, pair => {
          const [name, value] = pair;
          return [String(name), String(value)];
        });
      } else {
        this.#read(String(init));
      }
    }
    #read(text) {
      this.#pairs = text.replace(/^\?/, '').split('&').filter(part => part !== '').map(part => {
        const at = part.indexOf('=');
        const plain = one => unescape(one.replaceAll('+', ' '));
        return at < 0 ? [plain(part), ''] : [plain(part.slice(0, at)), plain(part.slice(at + 1))];
      });
    }
    get size() { return this.#pairs.length; }
    append(name, value) { this.#pairs.push([String(name), String(value)]); this.#changed(); }
    delete(name, value) {
      this.#pairs = this.#pairs.filter(pair => pair[0] !== String(name) || (value !== undefined && pair[1] !== String(value)));
      this.#changed();
    }
    get(name) { return (this.#pairs.find(pair => pair[0] === String(name)) || [null, null])[1]; }
    getAll(name) { return this.#pairs.filter(pair => pair[0] === String(name)).map(pair => pair[1]); }
    has(name, value) { return this.#pairs.some(pair => pair[0] === String(name) && (value === undefined || pair[1] === String(value))); }
    set(name, value) {
      const first = this.#pairs.find(pair => pair[0] === String(name));
      if (!first) return this.append(name, value);
      this.#pairs = this.#pairs.filter(pair => pair === first || pair[0] !== String(name));
      first[1] = String(value);
      this.#changed();
      return undefined;
    }
    sort() { this.#pairs.sort((one, other) => (one[0] < other[0] ? -1 : one[0] > other[0] ? 1 : 0)); this.#changed(); }
    forEach(body, self) { for (const [name, value] of this.#pairs) body.call(self, value, name, this); }
    *entries() { for (const [name, value] of this.#pairs) yield [name, value]; }
    *keys() { for (const [name] of this.#pairs) yield name; }
    *values() { for (const [, value] of this.#pairs) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return this.#pairs.map(([name, value]) => `${formEncode(name)}=${formEncode(value)}`).join('&'); }
  }

  class URL {
    #url;
    #params;
    constructor(text, base) {
      const parsedBase = base === undefined ? undefined : parse(String(base));
      this.#url = base !== undefined && !parsedBase ? null : parse(String(text), parsedBase);
      if (!this.#url) {
        const error = new TypeError('Invalid URL');
        error.code = 'ERR_INVALID_URL';
        error.input = String(text);
        throw error;
      }
      this.#read();
    }
    static canParse(text, base) {
      try { return Boolean(new URL(text, base)); } catch { return false; }
    }
    static parse(text, base) {
      try { return new URL(text, base); } catch { return null; }
    }
    #read() {
      this.#params = new URLSearchParams(this.#url.query || '', () => {
        const text = this.#params.toString();
        this.#url.query = text === '' ? null : text;
      });
    }
    get #special() { return this.#url.protocol in ports; }
    get href() { return format(this.#url); }
    set href(text) {
      const url = parse(String(text));
      if (!url) throw new TypeError('Invalid URL');
      this.#url = url;
      this.#read();
    }
    get origin() { return this.#special && this.#url.protocol !== 'file:' ? `${this.#url.protocol}//${this.host}` : 'null'; }
    get protocol() { return this.#url.protocol; }
    set protocol(text) {
      const name = `${String(text).replace(/:.*$/, '').toLowerCase()}:`;
      if (!/^[a-z][a-z0-9+.-]*:$/.test(name) || (name in ports) !== this.#special) return;
      this.#url.protocol = name;
      if (this.#url.port === ports[name]) this.#url.port = '';
    }
    get username() { return this.#url.username; }
    set username(text) { if (this.#url.host) this.#url.username = escape(String(text), marks.user); }
    get password() { return this.#url.password; }
    set password(text) { if (this.#url.host) this.#url.password = escape(String(text), marks.user); }
    get host() { return (this.#url.host || '') + (this.#url.port ? `:${this.#url.port}` : ''); }
    set host(text) {
      const parsed = this.#url.opaque ? null : parse(`${this.#url.protocol}//${text}`);
      if (parsed) [this.#url.host, this.#url.port] = [parsed.host, /:\d+$/.test(text) ? parsed.port : this.#url.port];
    }
    get hostname() { return this.#url.host || ''; }
    set hostname(text) {
      const name = this.#url.opaque ? null : hostOf(String(text), this.#special);
      if (name !== null) this.#url.host = name;
    }
    get port() { return this.#url.port; }
    set port(text) {
      const number = parseInt(text, 10);
      if (String(text) === '') this.#url.port = '';
      else if (number >= 0 && number <= 65535) this.#url.port = String(number) === ports[this.#url.protocol] ? '' : String(number);
    }
    get pathname() { return this.#url.path; }
    set pathname(text) { if (!this.#url.opaque) this.#url.path = pathOf(String(text).replace(/^[/\\]/, ''), this.#special); }
    get search() { return this.#url.query ? `?${this.#url.query}` : ''; }
    set search(text) {
      const query = String(text).replace(/^\?/, '');
      this.#url.query = query === '' ? null : escape(query, this.#special ? marks.special : marks.query);
      this.#read();
    }
    get searchParams() { return this.#params; }
    get hash() { return this.#url.hash ? `#${this.#url.hash}` : ''; }
    set hash(text) {
      const hash = String(text).replace(/^#/, '');
      this.#url.hash = hash === '' ? null : escape(hash, marks.hash);
    }
    toString() { return this.href; }
    toJSON() { return this.href; }
    [Symbol.for('nodejs.util.inspect.custom')]() { return `URL { ${this.href} }`; }
  }

  module.exports = { URL, URLSearchParams };
})
