/* What the pages do beside htmx: news, drafts, keys, retries. All state is in the store. */
"use strict";
(() => {
  const body = document.body;
  const each = (selector, act) => document.querySelectorAll(selector).forEach(act);

  // News: the server says that something moved; parts with hx-trigger="moved from:body" ask again.
  const moved = () => body.dispatchEvent(new CustomEvent("moved"));
  const news = body.dataset.news;
  if (news) {
    let state = body.dataset.stateToken;
    const source = new EventSource(news);
    source.addEventListener("moved", (event) => {
      if (event.data !== state) { state = event.data; moved(); }
    });
    setInterval(() => { if (source.readyState === EventSource.CLOSED) moved(); }, 10000);
  }

  // A form that the line or the server lost is sent again: its key keeps it from being kept twice.
  const lost = document.getElementById("lost");
  let tries = 0;
  const pressed = new WeakMap(); // form: the button that sent it, which is sent again with it
  document.addEventListener("submit", (event) => pressed.set(event.target, event.submitter), true);
  const later = (form, pause) => {
    lost.hidden = false;
    tries += 1;
    setTimeout(() => { if (form.isConnected) form.requestSubmit(pressed.get(form) || undefined); }, Math.max(pause || 0, Math.min(500 * tries, 3000)));
  };
  const again = (event) => {
    const element = event.detail.elt;
    if (!element.matches("form[data-again]")) { lost.hidden = false; return; }
    later(element, 0);
  };
  // 429: too fast; 502 and 504: a proxy that does not reach the server. A Retry-After is kept to.
  const WAITS = [429, 502, 504];
  body.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, requestConfig } = event.detail;
    const form = requestConfig && requestConfig.elt;
    if (!WAITS.includes(xhr.status) || !form || !form.matches("form[data-again]")) return;
    event.detail.shouldSwap = false;
    later(form, Number(xhr.getResponseHeader("Retry-After")) * 1000);
  });
  body.addEventListener("htmx:sendError", again);
  body.addEventListener("htmx:timeout", again);
  body.addEventListener("htmx:afterOnLoad", (event) => { if (!WAITS.includes(event.detail.xhr.status)) { lost.hidden = true; tries = 0; } });

  // Drafts survive a reload, until what they were for is kept.
  const place = (field) => `weal ${location.port}${body.dataset.root} ${field.dataset.draft}`;
  const remember = (field) => {
    try {
      if (field.value) localStorage.setItem(place(field), field.value);
      else localStorage.removeItem(place(field));
    } catch { /* a browser that keeps nothing */ }
  };
  const recall = () => each("[data-draft]", (field) => {
    try { if (!field.value) field.value = localStorage.getItem(place(field)) || ""; } catch { /* none */ }
  });
  const forget = (form) => form.querySelectorAll("[data-draft]").forEach((field) => {
    try { localStorage.removeItem(place(field)); } catch { /* none */ }
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-draft]")) remember(event.target);
  });
  body.addEventListener("htmx:beforeSwap", (event) => {
    const form = event.detail.requestConfig && event.detail.requestConfig.elt;
    const good = event.detail.xhr.status < 300 && !event.detail.serverResponse.includes("data-question");
    if (good && form && form.matches("form[data-again]")) forget(form);
  });

  // Where to type next. A field that has the focus before this script runs keeps it: selected digits would be lost.
  const typing = (element) => element.matches("input:not([type=radio], [type=checkbox]), textarea, select");
  const focusField = (within) => {
    recall();
    const field = (within || document).querySelector("[data-focus]");
    if (!field || (!within && document.querySelector("dialog[open]")) || typing(document.activeElement || body)) return;
    field.focus();
    if (field.select) field.select();
  };
  // Labels of a row come into their dialog; once they have changed, the page below is loaded again.
  const labels = document.getElementById("labels-dialog");
  if (labels) labels.addEventListener("close", () => { if (labels.querySelector("[data-changed]")) location.reload(); });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-change]");
    if (!link || !labels || event.ctrlKey || event.metaKey || event.shiftKey) return; // a new tab, as of any link
    event.preventDefault();
    htmx.ajax("GET", link.pathname.replace(/row$/, "row/labels") + link.search, { target: labels, swap: "innerHTML" });
  });
  body.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target.id === "bench") focusField();
    if (event.detail.target === labels && !labels.open) labels.showModal();
    if (event.detail.target.matches("[data-panel], #labels-dialog")) focusField(labels && labels.open ? labels : document.querySelector("[data-panel]"));
  });

  // Keys: an element with data-key is clicked. In a field letters are letters, and a key needs Alt.
  const letter = (event) => (/^[a-z]$/i.test(event.key) || !event.code.startsWith("Key") ? event.key : event.code.slice(3)).toLowerCase();
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.repeat || document.querySelector("dialog[open]")) return;
    if (typing(event.target) && !event.altKey) { if (event.key === "Escape") event.target.blur(); return; }
    if (event.key === "?") { const keys = document.getElementById("keys"); if (keys) { event.preventDefault(); keys.showModal(); } return; }
    const target = document.querySelector(`[data-key="${CSS.escape(letter(event))}"]`);
    if (target) { event.preventDefault(); target.click(); }
  });
  document.addEventListener("toggle", (event) => {
    if (event.target.matches("details[data-reasons][open]")) event.target.querySelector("button, input:not([type=hidden])").focus();
  }, true);
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-opens]");
    if (opener) document.getElementById(opener.dataset.opens).showModal();
    const closer = event.target.closest("[data-closes]");
    if (closer) closer.closest("dialog").close();
    if (event.target.closest("[data-print]")) window.print();
  });

  // Files may be dropped on their field.
  const drop = (event) => event.target.closest && event.target.closest(".drop");
  ["dragover", "dragenter"].forEach((kind) => document.addEventListener(kind, (event) => {
    if (drop(event)) { event.preventDefault(); drop(event).classList.add("over"); }
  }));
  document.addEventListener("dragleave", (event) => { if (drop(event)) drop(event).classList.remove("over"); });
  document.addEventListener("drop", (event) => {
    const zone = drop(event);
    if (!zone || !event.dataTransfer.files.length) return;
    event.preventDefault();
    zone.classList.remove("over");
    const field = zone.querySelector("input[type=file]");
    field.files = event.dataTransfer.files;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  });
  const MOST = 32 * 2 ** 20; // bytes that the server takes
  const chosen = (field) => {
    const large = field.files.length && field.files[0].size > MOST;
    field.setCustomValidity(large ? "This file is larger than the limit of 32 MB." : "");
    if (large) field.reportValidity();
    else if (field.files.length && field.matches("[data-sends]")) field.form.requestSubmit();
  };
  document.addEventListener("change", (event) => { if (event.target.matches("input[type=file]")) chosen(event.target); });
  // A file chosen before this script was here counts; one that "back" brought into its field does not.
  if (performance.getEntriesByType("navigation")[0].type === "navigate") document.querySelectorAll("input[type=file]").forEach(chosen);

  // A page that only waited leaves no step behind: "back" leads to where the work was asked for.
  body.addEventListener("htmx:beforeOnLoad", (event) => {
    const next = event.detail.xhr.getResponseHeader("HX-Redirect");
    if (!next || event.target.id !== "work" || !location.pathname.startsWith(`${body.dataset.root}/work/`)) return;
    event.preventDefault();
    location.replace(next);
  });
  document.addEventListener("DOMContentLoaded", () => focusField()); // when htmx listens, and not before
})();
