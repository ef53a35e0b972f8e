// Makes the forum's pages nicer; all of them work without it.
"use strict";
(() => {
  const spanish = document.documentElement.lang === "es";
  const say = (es, en) => (spanish ? es : en);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const api = (path, parameters) => {
    const query = new URLSearchParams(parameters);
    return fetch(`${document.body.dataset.api}/${path}?${query}`, {
      headers: { "X-Parse-Application-Id": document.body.dataset.app },
    }).then((answer) => (answer.ok ? answer.json() : Promise.reject(answer.status)));
  };

  // The exact time, by the reader's own clock.
  const exact = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "long", timeStyle: "short" });
  const tellTimes = (within) => {
    for (const time of all("time", within)) time.title = exact.format(new Date(time.dateTime));
  };
  tellTimes(document);

  // A form goes once, by Control and Enter too; what cannot be undone is asked.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    const question = event.submitter?.dataset.ask;
    if (form.dataset.sent || (question && !confirm(question))) return event.preventDefault();
    if (form.method !== "post") return;
    // Whoever sits here next finds no half-written words.
    if (form.getAttribute("action") === "/salir") localStorage.clear();
    form.dataset.sent = "yes";
    for (const button of all("button", form)) button.setAttribute("aria-disabled", "true");
    // Whoever has stopped a connection that hung tries again.
    setTimeout(release, 15000);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form?.requestSubmit();
  });
  const release = () => {
    for (const form of all("form[data-sent]")) {
      delete form.dataset.sent;
      for (const button of all("button", form)) button.removeAttribute("aria-disabled");
    }
  };
  addEventListener("pageshow", release);

  // What was written is kept until it has been sent: connections fail.
  try {
    // A form that was taken has led to this page, which has no complaint. Whoever has come by himself, after a page
    // that never arrived, does not know whether it was.
    const sent = sessionStorage.getItem("sent");
    const isLed = performance.getEntriesByType("navigation")[0]?.redirectCount !== 0;
    if (sent && isLed && !document.querySelector(".error")) localStorage.removeItem(sent);
    sessionStorage.removeItem("sent");
  } catch {}
  for (const form of all("form[data-draft]")) {
    const key = "draft " + form.getAttribute("action").replace(/#.*/, "");
    const fields = all("textarea, input:not([type=hidden])", form);
    try {
      const kept = JSON.parse(localStorage.getItem(key) || "{}");
      for (const field of fields) if (!field.value && kept[field.name]) field.value = kept[field.name];
      form.addEventListener("input", () => {
        localStorage.setItem(key, JSON.stringify(Object.fromEntries(fields.map((field) => [field.name, field.value]))));
      });
      form.addEventListener("submit", () => sessionStorage.setItem("sent", key));
    } catch {}
  }

  // Who has to tell a code beside the password need not write the password again.
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (event.defaultPrevented || !form.matches("form[data-log-in]")) return;
    event.preventDefault();
    try {
      const body = new URLSearchParams(new FormData(form));
      const answer = await fetch(form.action, { method: "POST", body, redirect: "manual" });
      if (answer.type === "opaqueredirect") return location.assign(form.elements.a.value);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.querySelector("form[data-log-in]");
      const { clave, codigo } = fresh.elements;
      if (codigo) clave.value = form.elements.clave.value;
      document.querySelector("main").replaceWith(page.querySelector("main"));
      (codigo || clave).focus();
    } catch {
      form.submit();
    }
  });

  // Older topics and later comments come to the end of the list.
  const list = document.querySelector("[data-more]");
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.(".pager a[rel=next]");
    if (!list || !link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    try {
      const answer = await fetch(link.href);
      if (!answer.ok) throw answer.status;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const items = [...page.querySelector("[data-more]").children];
      tellTimes(page);
      list.append(...items);
      link.closest(".pager").replaceWith(page.querySelector(".pager") || "");
      history.replaceState(null, "", link.href);
      items[0]?.querySelector("a")?.focus();
    } catch {
      location.assign(link.href);
    }
  });

  // Whether the topic is there already, while its name is written.
  const name = document.querySelector("[data-similar]");
  if (name) {
    const found = make("div", { className: "hint", ariaLive: "polite" });
    name.after(found);
    let timer;
    name.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        const words = name.value.trim();
        if (words.length < 4) return found.replaceChildren();
        const where = JSON.stringify({ Tema: { $text: { $search: { $term: words } } } });
        const { results } = await api("classes/Temas", { where, order: "$score", limit: 5, keys: "Tema" }).catch(() => ({}));
        if (!results?.length) return found.replaceChildren();
        const links = results.map((topic) => make("li", {}, make("a", { href: `/tema/${topic.objectId}` }, topic.Tema)));
        found.replaceChildren(name.dataset.similar + ":", make("ul", {}, ...links));
      }, 400);
    });
  }

  // Comments that came while the topic is being read.
  const count = document.querySelector("[data-count]");
  if (count) {
    let seen = Number(count.dataset.count);
    const note = make("p", { className: "invite", hidden: true, role: "status" });
    list?.after(note);
    setInterval(async () => {
      if (document.hidden) return;
      const topic = await api(`classes/Temas/${count.dataset.topic}`, { keys: "comentarios" }).catch(() => null);
      const more = (topic?.comentarios ?? 0) - seen;
      if (more <= 0) return;
      const text = more === 1 ? say("1 comentario nuevo", "1 new comment") : `${more} ${say("comentarios nuevos", "new comments")}`;
      note.replaceChildren(make("a", { href: `/tema/${count.dataset.topic}${topic.comentarios > 20 ? "?desde=final" : ""}` }, text));
      note.hidden = false;
    }, 30000);
  }

  // A chat goes on while it is looked at.
  const chat = document.querySelector("[data-chat]");
  if (chat) {
    chat.lastElementChild?.scrollIntoView({ block: "nearest" });
    setInterval(async () => {
      if (document.hidden) return;
      const answer = await fetch(location.href).catch(() => null);
      if (!answer?.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.querySelector("[data-chat]");
      const known = new Set([...chat.children].map((item) => item.id));
      const items = [...(fresh?.children ?? [])].filter((item) => !known.has(item.id));
      if (!items.length) return;
      tellTimes(page);
      // That there were none.
      document.querySelector("main > .empty")?.remove();
      chat.append(...items);
      items.at(-1).scrollIntoView({ block: "nearest" });
    }, 5000);
  }
})();
