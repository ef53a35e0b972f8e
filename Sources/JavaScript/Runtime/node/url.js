// Node's url: the classes, and the old functions parse, format and resolve.
(function (internal, module) {
  'use strict';
  const { URL, URLSearchParams } = internal('web/url');
  const querystring = internal('node/querystring');

  function parse(text, asObject = false) {
    const [, protocol, slashes, authority, pathname, search, hash] =
      /^([a-zA-Z][a-zA-Z0-9+.-]*:)?(\/\/)?((?<=\/\/)[^/?#]*)?([^?#]*)(\?[^#]*)?(#.*)?$/.exec(text.trim()) || [];
    const at = authority ? authority.lastIndexOf('@') : -1;
    const host = authority ? authority.slice(at + 1).toLowerCase() : null;
    const port = host ? /:(\d+)$/.exec(host) : null;
    const query = search ? search.slice(1) : null;
    return {
      protocol: protocol ? protocol.toLowerCase() : null,
      slashes: slashes ? true : null,
      auth: at >= 0 ? decodeURIComponent(authority.slice(0, at)) : null,
      host,
      port: port ? port[1] : null,
      hostname: host && (port ? host.slice(0, -port[0].length) : host),
      hash: hash || null,
      search: search || (asObject ? '' : null),
      query: asObject ? querystring.parse(query || '') : query,
      pathname: pathname || (host ? '/' : null),
      path: (pathname || (host ? '/' : '')) + (search || '') || null,
      href: text,
    };
  }

  function format(url) {
    if (typeof url === 'string') return format(parse(url));
    if (url instanceof URL) return url.href;
    const protocol = url.protocol ? url.protocol.replace(/:?$/, ':') : '';
    const host = url.host || (url.hostname ? url.hostname + (url.port ? `:${url.port}` : '') : '');
    const slashes = url.slashes || (host && /^(https?|ftp|file|wss?):$/.test(protocol)) ? '//' : '';
    const text = url.query && typeof url.query === 'object' ? querystring.stringify(url.query) : '';
    const search = url.search || (text ? `?${text}` : '');
    const hash = url.hash ? url.hash.replace(/^#?/, '#') : '';
    return protocol + slashes + (url.auth ? `${encodeURIComponent(url.auth).replace('%3A', ':')}@` : '') + host
      + (url.pathname || '') + search.replace(/^\??/, search ? '?' : '') + hash;
  }

  function resolve(from, to) {
    const base = new URL(from, 'resolve://none/');
    const url = new URL(to, base);
    return url.protocol === 'resolve:' ? url.pathname + url.search + url.hash : url.href;
  }

  module.exports = { URL, URLSearchParams, parse, format, resolve,
    fileURLToPath: url => decodeURIComponent(new URL(url).pathname),
    pathToFileURL: path => new URL(`file://${encodeURI(path)}`),
    domainToASCII: name => { try { return new URL(`http://${name}`).hostname; } catch { return ''; } } };
})
