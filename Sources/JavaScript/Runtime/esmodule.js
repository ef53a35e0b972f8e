// Modules of ECMAScript, and import() anywhere: the engine has no loader of its own, so import and export become calls,
// each on the line on which it stands. What is imported by name is read once, before the module runs.
(function (internal, module) {
  'use strict';
  const { read } = internal('source');
  const check = internal('check');
  const modules = new WeakSet();
  const newlines = text => text.replace(/[^\n]/g, '');

  // The text as the body of a function of `__hermes`; undefined where it has nothing of the kind.
  function translate(text) {
    if (!/\b(?:import|export)\b/.test(text)) return undefined;
    const { code, quoted } = read(text);
    const edits = [];
    const needed = [];
    const exported = [];
    let isModule = false;
    const at = (expression, index) => {
      const sticky = new RegExp(expression.source, 'y');
      sticky.lastIndex = index;
      return sticky.exec(code);
    };
    const edit = (start, end, by) => {
      edits.push({ start, end, by: by + newlines(text.slice(start, end)) });
      return end;
    };
    // Past the name of the module, its attributes and the semicolon.
    const source = quote => {
      const { value, end } = quoted.get(quote);
      const [rest] = at(/(?:\s*(?:with|assert)\s*\{[^}]*\})?[ \t]*;?/, end);
      return { name: text.slice(quote, end), end: end + rest.length, value };
    };
    const pairs = list => list.split(',').map(one => one.trim().split(/\s+as\s+/)).filter(([name]) => name)
      .map(([name, other = name]) => [name, other]);

    const word = /(?<![\w$.#])(import|export)(?![\w$])/g;
    for (let match = word.exec(code); match; match = word.exec(code)) {
      const start = match.index;
      let found;
      if (match[1] === 'import') {
        if ((found = at(/import\s*(?=\()/, start))) {
          // A method of that name has a body.
          if (!/^\s*\{/.test(code.slice(past(code, start + found[0].length)))) edit(start, start + 6, '__hermes.import');
        } else if ((found = at(/import\s*\.\s*meta\b/, start))) {
          edit(start, start + found[0].length, '__hermes.meta');
        } else if ((found = at(/import\s*(?:([\w$*{][^"';()=]*?)\s*\bfrom\s*)?(?=["'])/, start))) {
          isModule = true;
          const { name, end } = source(start + found[0].length);
          needed.push(imported(name, found[1] || '', needed.length, pairs));
          word.lastIndex = edit(start, end, '');
        }
      } else if ((found = at(/export\s*\*\s*(?:as\s+([\w$]+)\s*)?from\s*(?=["'])/, start))) {
        isModule = true;
        const { name, end } = source(start + found[0].length);
        needed.push(found[1] ? `const __m${needed.length} = __hermes.all(__hermes.need(${name}));` : `__hermes.again(__hermes.need(${name}));`);
        if (found[1]) exported.push([found[1], `__m${needed.length - 1}`]);
        word.lastIndex = edit(start, end, '');
      } else if ((found = at(/export\s*\{([^}]*)\}(\s*from\s*(?=["']))?/, start))) {
        isModule = true;
        let end = start + found[0].length;
        let of = '';
        if (found[2]) {
          const from = source(end);
          of = `__m${needed.length}.`;
          needed.push(`const __m${needed.length} = __hermes.all(__hermes.need(${from.name}));`);
          end = from.end;
        }
        for (const [name, other] of pairs(found[1])) exported.push([other, of + name]);
        word.lastIndex = edit(start, end, '');
      } else if ((found = at(/export\s+default\s+(?=(?:(?:async\s+)?function\s*\*?|class)\s*(?!extends\b)([\w$]+)|)/, start))) {
        isModule = true;
        exported.push(['default', found[1] || '__default']);
        edit(start, start + found[0].length, found[1] ? '' : 'const __default = ');
      } else if ((found = at(/export\s+(?=(?:async\s+)?(?:function\s*\*?|class)\s*([\w$]+))/, start))) {
        isModule = true;
        exported.push([found[1], found[1]]);
        edit(start, start + found[0].length, '');
      } else if ((found = at(/export\s+(?=(const|let|var)\b)/, start))) {
        isModule = true;
        const end = start + found[0].length;
        for (const name of declared(code, end + found[1].length)) exported.push([name, name]);
        edit(start, end, '');
      }
    }
    if (edits.length === 0) return undefined;
    let body = '';
    let last = 0;
    for (const { start, end, by } of edits) {
      body += text.slice(last, start) + by;
      last = end;
    }
    body += text.slice(last);
    if (!isModule) return { body, isModule };
    const getters = exported.map(([name, expression]) => `${JSON.stringify(name)}: () => ${expression}`).join(', ');
    // What is exported is there before anything is imported: modules may need one another.
    return { body: `"use strict"; __hermes.give({ ${getters} }); ${needed.join(' ')} ${body}`, isModule, mayWait: /\bawait\b/.test(code) };
  }

  // The names that a declaration brings whose first target stands at `start`.
  function declared(code, start) {
    const names = [];
    for (let at = start; at < code.length;) {
      at += /^\s*/.exec(code.slice(at))[0].length;
      const end = '{['.includes(code[at]) ? past(code, at) : at + /^[\w$]*/.exec(code.slice(at))[0].length;
      if (end === at) break;
      names.push(...targets(code.slice(at, end)));
      // Over the value to a comma or to the statement's end.
      for (at = end; at < code.length && code[at] !== ',';) {
        if (code[at] === ';' || (code[at] === '\n' && !/[-=+*/%&|^?:,.<>!~]\s*$/.test(code.slice(start, at)) && !/^\s*[-=+*/%&|^?:,.<>([]/.test(code.slice(at)))) return names;
        at = '{[('.includes(code[at]) ? past(code, at) : at + 1;
      }
      at += 1;
    }
    return names;
  }
  // The place behind the bracket that closes the one at a place.
  function past(code, start) {
    let depth = 0;
    for (let at = start; at < code.length; at += 1) {
      if ('{[('.includes(code[at])) depth += 1;
      else if ('}])'.includes(code[at]) && --depth === 0) return at + 1;
    }
    return code.length;
  }
  function targets(text) {
    if (!'{['.includes(text[0])) return [text];
    const names = [];
    const parts = [''];
    for (let at = 1; at < text.length - 1;) {
      const end = '{[('.includes(text[at]) ? past(text, at) : at + 1;
      if (text[at] === ',') parts.push(''); else parts[parts.length - 1] += text.slice(at, end);
      at = end;
    }
    for (const part of parts) {
      const [, target] = /^\s*(?:\.\.\.|[\w$\s]+:(?!:))?\s*([{[][^]*[}\]]|[\w$]+)/.exec(part) || [];
      if (target) names.push(...targets('{['.includes(target[0]) ? target.slice(0, past(target, 0)) : target));
    }
    return names;
  }

  function imported(name, clause, number, pairs) {
    if (!clause) return `__hermes.need(${name});`;
    const own = `__m${number}`;
    const lines = [`const ${own} = __hermes.all(__hermes.need(${name}));`];
    const first = /^([\w$]+)/.exec(clause);
    if (first) lines.push(`const ${first[1]} = ${own}.default;`);
    const all = /\*\s*as\s+([\w$]+)/.exec(clause);
    if (all) lines.push(`const ${all[1]} = ${own};`);
    const some = /\{([^}]*)\}/.exec(clause);
    if (some) for (const [one, other] of pairs(some[1])) lines.push(`const ${other} = ${own}.${one};`);
    return lines.join(' ');
  }

  // What a module sees as `__hermes`.
  function surroundings(loading, need) {
    const { exports } = loading;
    const give = getters => {
      modules.add(exports);
      Object.defineProperty(exports, '__esModule', { value: true });
      for (const [name, get] of Object.entries(getters)) Object.defineProperty(exports, name, { get, enumerable: true });
    };
    return {
      need, all, give,
      again: from => {
        for (const name of Object.keys(all(from))) {
          if (name !== 'default' && !(name in exports)) Object.defineProperty(exports, name, { get: () => from[name], enumerable: true });
        }
      },
      import: async name => all(await need(String(name))),
      meta: { url: new URL(`file://${encodeURI(loading.filename)}`).href, filename: loading.filename, dirname: loading.path },
    };
  }

  // As import sees a module: of one with module.exports, that is the default.
  function all(exports) {
    if (exports !== null && typeof exports === 'object' && modules.has(exports)) return check.isOn ? forgiving(exports) : exports;
    const named = exports !== null && (typeof exports === 'object' || typeof exports === 'function') ? exports : {};
    return new Proxy(named, { get: (target, key) => (key === 'default' ? exports : target[key]), has: (target, key) => key === 'default' || key in target });
  }

  // For the check: a module that ended early lets those that import it go on.
  const forgiving = exports => new Proxy(exports, {
    get: (target, key) => { try { return target[key]; } catch { return check.standIn(); } },
  });

  module.exports = { translate, surroundings };
})
