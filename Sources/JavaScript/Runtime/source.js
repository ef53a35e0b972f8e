// Looks at the text of a script without running it: what of it is code, and what comments, texts and patterns.
(function (internal, module) {
  'use strict';
  const token = /\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:\\[^]|[^'\\\n])*'?|"(?:\\[^]|[^"\\\n])*"?|[`{}/]|[^'"`{}/]+/gy;
  const template = /(?:\\[^]|\$(?!\{)|[^\\`$])*(`|\$\{|$)/gy;
  const pattern = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/\w*/gy;
  // After these words a slash begins a pattern; after other words, numbers and closing brackets it divides.
  const opening = new Set('return typeof case in of delete void throw new else do await yield instanceof'.split(' '));
  const blank = text => text.replace(/[^\n]/g, ' ');

  // `code`: the text with blanks for all that is no code, as long as the text, the quotes of quoted texts left in place;
  // `quoted`: what stands behind a quote, by its place.
  function read(text) {
    const parts = [];
    const quoted = new Map();
    const braces = [];
    let at = 0;
    let end = -1;
    const take = (expression, shown) => {
      expression.lastIndex = at;
      const [found, ...groups] = expression.exec(text) || [text[at]];
      parts.push(shown(found));
      at += found.length;
      return groups[0];
    };
    const inTemplate = () => { if (take(template, blank) === '${') braces.push('$'); end = at - 1; };
    const dividesHere = () => {
      if (end < 0) return false;
      const word = /[\w$]+$/.exec(text.slice(Math.max(0, end - 20), end + 1));
      return word ? !opening.has(word[0]) : /[)\]}'"`]/.test(text[end]);
    };
    while (at < text.length) {
      const start = at;
      const first = text[at];
      if (first === '/' && text[at + 1] !== '/' && text[at + 1] !== '*' && !dividesHere()) {
        take(pattern, blank);
        end = at - 1;
      } else if (first === '`') {
        parts.push(' ');
        at += 1;
        inTemplate();
      } else if (first === '}' && braces.pop() === '$') {
        parts.push(' ');
        at += 1;
        inTemplate();
      } else if (first === "'" || first === '"') {
        take(token, found => {
          const isClosed = found.length > 1 && found.endsWith(first);
          quoted.set(start, { value: found.slice(1, isClosed ? -1 : undefined), end: start + found.length });
          return first + blank(found.slice(1, isClosed ? -1 : undefined)) + (isClosed ? first : '');
        });
        end = at - 1;
      } else {
        if (first === '{') braces.push('{');
        const isComment = first === '/' && (text[at + 1] === '/' || text[at + 1] === '*');
        take(token, found => (isComment ? blank(found) : found));
        if (!isComment) {
          const shown = parts[parts.length - 1].trimEnd();
          if (shown) end = start + shown.length - 1;
        }
      }
    }
    return { code: parts.join(''), quoted };
  }

  function lineAt(text, index) {
    let line = 1;
    for (let next = text.indexOf('\n'); next >= 0 && next < index; next = text.indexOf('\n', next + 1)) line += 1;
    return line;
  }

  module.exports = { read, lineAt };
})
