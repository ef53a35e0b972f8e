// Texts as bytes and bytes as texts: TextEncoder, TextDecoder, atob, btoa.
(function (internal, module) {
  'use strict';

  function encode(text) {
    text = String(text);
    // Three bytes for each unit of UTF-16 are the most.
    const bytes = new Uint8Array(text.length * 3);
    let size = 0;
    for (let i = 0; i < text.length; i++) {
      let code = text.charCodeAt(i);
      if (code < 0x80) {
        bytes[size++] = code;
        continue;
      }
      if (code >= 0xd800 && code <= 0xdfff) {
        const next = i + 1 < text.length ? text.charCodeAt(i + 1) : 0;
        if (code < 0xdc00 && next >= 0xdc00 && next <= 0xdfff) {
          code = 0x10000 + ((code - 0xd800) << 10) + (next - 0xdc00);
          i++;
        } else {
          code = 0xfffd;
        }
      }
      if (code < 0x800) {
        bytes[size++] = 0xc0 | (code >> 6);
      } else {
        if (code < 0x10000) {
          bytes[size++] = 0xe0 | (code >> 12);
        } else {
          bytes[size++] = 0xf0 | (code >> 18);
          bytes[size++] = 0x80 | ((code >> 12) & 63);
        }
        bytes[size++] = 0x80 | ((code >> 6) & 63);
      }
      bytes[size++] = 0x80 | (code & 63);
    }
    return bytes.slice(0, size);
  }

  // As the Encoding Standard decodes UTF-8: each piece that can't be read becomes one U+FFFD.
  function decode(bytes, fatal = false) {
    const parts = [];
    let units = [];
    const put = code => {
      if (code > 0xffff) {
        units.push(0xd800 + ((code - 0x10000) >> 10), 0xdc00 + ((code - 0x10000) & 0x3ff));
      } else {
        units.push(code);
      }
      if (units.length > 8000) {
        parts.push(String.fromCharCode.apply(null, units));
        units = [];
      }
    };
    const bad = () => {
      if (fatal) throw new TypeError('The encoded data was not valid utf-8');
      put(0xfffd);
    };
    let i = 0;
    while (i < bytes.length) {
      const byte = bytes[i++];
      if (byte < 0x80) {
        put(byte);
        continue;
      }
      let more = byte >= 0xf0 && byte <= 0xf4 ? 3 : byte >= 0xe0 && byte < 0xf0 ? 2 : byte >= 0xc2 && byte < 0xe0 ? 1 : 0;
      if (more === 0) {
        bad();
        continue;
      }
      let code = byte & (0x3f >> more);
      let low = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80;
      let high = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf;
      while (more > 0 && i < bytes.length && bytes[i] >= low && bytes[i] <= high) {
        code = (code << 6) | (bytes[i++] & 63);
        low = 0x80;
        high = 0xbf;
        more--;
      }
      if (more > 0) bad(); else put(code);
    }
    parts.push(String.fromCharCode.apply(null, units));
    return parts.join('');
  }

  function view(source) {
    if (source === undefined) return new Uint8Array(0);
    if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
    return new Uint8Array(source);
  }

  class TextEncoder {
    get encoding() { return 'utf-8'; }
    encode(text = '') { return encode(text); }
    encodeInto(text, target) {
      const bytes = encode(text);
      const size = Math.min(bytes.length, target.length);
      target.set(bytes.subarray(0, size));
      return { read: text.length, written: size };
    }
  }

  const names = { 'utf-8': 'utf-8', utf8: 'utf-8', 'utf-16le': 'utf-16le', latin1: 'latin1', 'iso-8859-1': 'latin1', ascii: 'latin1',
    'us-ascii': 'latin1', 'windows-1252': 'latin1' };
  // How many bytes at the end are the beginning of a character.
  function unfinished(bytes, encoding) {
    if (encoding === 'latin1') return 0;
    if (encoding === 'utf-16le') return bytes.length % 2;
    for (let count = 1; count <= 3 && count <= bytes.length; count += 1) {
      const byte = bytes[bytes.length - count];
      if ((byte & 0xc0) !== 0x80) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1) > count ? count : 0;
    }
    return 0;
  }

  class TextDecoder {
    #rest = new Uint8Array(0);
    #hasBegun = false;
    constructor(encoding = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
      this.encoding = names[String(encoding).trim().toLowerCase()];
      if (!this.encoding) throw new RangeError(`the encoding "${encoding}" is not known`);
      this.fatal = fatal;
      this.ignoreBOM = ignoreBOM;
    }
    decode(source, { stream = false } = {}) {
      let bytes = source === undefined ? new Uint8Array(0) : view(source);
      if (this.#rest.length > 0) {
        const joined = new Uint8Array(this.#rest.length + bytes.length);
        joined.set(this.#rest);
        joined.set(bytes, this.#rest.length);
        bytes = joined;
      }
      const end = bytes.length - (stream ? unfinished(bytes, this.encoding) : 0);
      // What is left of a character begins the next part.
      this.#rest = bytes.slice(end);
      bytes = bytes.subarray(0, end);
      const isFirst = !this.#hasBegun;
      this.#hasBegun = stream && (this.#hasBegun || bytes.length > 0);
      if (this.encoding === 'latin1') return binary(bytes);
      if (this.encoding === 'utf-16le') {
        let text = '';
        for (let i = 0; i + 1 < bytes.length; i += 2) text += String.fromCharCode(bytes[i] | (bytes[i + 1] << 8));
        return text;
      }
      const text = decode(bytes, this.fatal);
      return isFirst && !this.ignoreBOM && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
    }
  }

  // One character for each byte.
  function binary(bytes) {
    let text = '';
    for (let i = 0; i < bytes.length; i += 8000) text += String.fromCharCode.apply(null, bytes.subarray(i, i + 8000));
    return text;
  }

  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const values = new Map([...alphabet].map((letter, value) => [letter, value]));
  values.set('-', 62).set('_', 63);

  function toBase64(bytes, forURL = false) {
    let text = '';
    for (let i = 0; i < bytes.length; i += 3) {
      const rest = bytes.length - i;
      const three = (bytes[i] << 16) | ((rest > 1 ? bytes[i + 1] : 0) << 8) | (rest > 2 ? bytes[i + 2] : 0);
      text += alphabet[three >> 18] + alphabet[(three >> 12) & 63];
      text += rest > 1 ? alphabet[(three >> 6) & 63] : '=';
      text += rest > 2 ? alphabet[three & 63] : '=';
    }
    return forURL ? text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '') : text;
  }

  // Lenient, as Buffer is: what is no letter of base64 is passed over, and `=` ends the text.
  function fromBase64(text) {
    const bytes = new Uint8Array(Math.ceil((text.length * 3) / 4));
    let size = 0, bits = 0, held = 0;
    for (const letter of text) {
      if (letter === '=') break;
      const value = values.get(letter);
      if (value === undefined) continue;
      held = ((held << 6) | value) & 0xffffff;
      bits += 6;
      if (bits >= 8) {
        bits -= 8;
        bytes[size++] = (held >> bits) & 255;
      }
    }
    return bytes.slice(0, size);
  }

  function refuse(sentence) {
    const { DOMException } = internal('web/abort');
    throw new DOMException(sentence, 'InvalidCharacterError');
  }
  function atob(text) {
    text = String(text).replace(/[\t\n\f\r ]/g, '').replace(/={1,2}$/, match => match);
    const plain = text.length % 4 === 0 ? text.replace(/={1,2}$/, '') : text;
    if (plain.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(plain)) refuse('The text is not base64');
    return binary(fromBase64(plain));
  }
  function btoa(text) {
    text = String(text);
    if (/[^\0-\xff]/.test(text)) refuse('The text holds characters outside of Latin-1');
    return toBase64(Uint8Array.from(text, letter => letter.charCodeAt(0)));
  }

  module.exports = { encode, decode, binary, view, toBase64, fromBase64, TextEncoder, TextDecoder, atob, btoa };
})
