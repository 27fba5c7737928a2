// The bench of a learner or a campaign in a notebook. Python has the state: this file draws the
// traits `view` and `report`, and sends messages (messages.py). All text is set as text nodes.

const PATIENCE = 8000; // ms without an answer before the display says so
const QUIET = 700; // ms without typing before the report is asked for
const REFRESH = 4000; // ms between looks at Python when the display gets the focus
const typed = new Map(); // what was typed, by widget and row: a notebook may draw a display anew
let count = 0; // of displays, for ids of elements

function make(tag, given = {}, ...children) {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (name.startsWith("on")) found.addEventListener(name.slice(2), value);
    else if (name in found && typeof value !== "string") found[name] = value;
    else found.setAttribute(name, value);
  }
  found.append(...children.filter((one) => one !== null && one !== ""));
  return found;
}

const isolated = (text) => make("bdi", {}, text); // text of any direction
const newKey = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

class Display {
  constructor(model, root) {
    this.model = model;
    this.number = (count += 1);
    const widget = this.view.widget;
    if (!typed.has(widget)) typed.set(widget, new Map());
    this.drafts = typed.get(widget);
    this.focus = null; // token of the row in the form
    this.sent = null; // the message that waits for an answer
    this.refreshed = 0;
    this.root = make("section", {
      class: "weal-bench", "data-lm-suppress-shortcuts": "true", "data-jp-suppress-context-menu": "true",
      onkeydown: (event) => this.keys(event),
      onpointerenter: () => this.refresh(),
      onfocusin: () => this.refresh(),
    });
    this.head = make("div", { class: "weal-head" });
    this.asking = make("div");
    this.rows = make("div");
    this.form = make("div");
    this.foot = make("div", { class: "weal-foot" });
    this.status = make("div", { class: "weal-status", role: "status", "aria-live": "polite" });
    this.root.append(this.head, this.asking, this.rows, this.status, this.form, this.foot);
    root.replaceChildren(this.root);
    this.drawAsking();
    this.listeners = {
      "change:view": () => this.draw(),
      "change:report": () => this.drawHead(),
      "msg:custom": (answer) => this.answered(answer),
    };
    for (const [name, act] of Object.entries(this.listeners)) model.on(name, act);
    this.draw();
  }

  close() {
    for (const [name, act] of Object.entries(this.listeners)) this.model.off(name, act);
    clearTimeout(this.late);
    clearTimeout(this.quiet);
  }

  get view() { return this.model.get("view"); }
  id(name) { return `weal-${this.number}-${name}`; }
  row() { return this.view.rows.find((one) => one.row === this.focus) ?? null; }
  draft(token) {
    if (!this.drafts.has(token)) this.drafts.set(token, { values: [], note: "", key: newKey() });
    return this.drafts.get(token);
  }

  // messages

  refresh() {
    if (Date.now() - this.refreshed < REFRESH || this.sent) return;
    this.refreshed = Date.now();
    this.model.send({ action: "refresh" });
  }

  wantReport() {
    clearTimeout(this.quiet);
    if (this.model.get("report")?.revision === this.view.revision) return;
    this.quiet = setTimeout(() => this.model.send({ action: "report" }), QUIET);
  }

  send(message) {
    if (this.sent) return;
    this.sent = message;
    this.root.setAttribute("aria-busy", "true");
    this.sendNow();
  }

  sendNow() {
    clearTimeout(this.late);
    this.late = setTimeout(() => this.say(
      "No answer from Python yet: the kernel is busy, or it was restarted. This is not saved yet; " +
      "what you typed stays here. After a restart, run the cell of the widget again.",
      "wrong", ["Send again", () => this.sendNow()]), PATIENCE);
    this.model.send(this.sent);
  }

  answered(answer) {
    if (!this.sent || answer.to !== this.sent.key) return;
    const message = this.sent;
    clearTimeout(this.late);
    this.sent = null;
    this.root.removeAttribute("aria-busy");
    if (answer.done) {
      if (message.row !== undefined) {
        this.drafts.delete(message.row);
        this.leaving = message.row; // the next view moves on to another row
      }
      if (message.action === "ask") this.focus = this.row() ? this.focus : null;
      if (answer.row !== null) this.focus = answer.row;
      this.say(answer.notice);
      this.drawForm();
      this.toField = true;
    } else if (answer.question) {
      this.draft(message.row).question = answer.question;
      this.say("");
      this.drawForm();
      this.focusField();
    } else {
      if (message.action === "tell") this.draft(message.row).wrong = answer.wrong_fields;
      if (answer.left) this.n.value = String(answer.left);
      if (message.row !== undefined) this.draft(message.row).key = newKey();
      this.say(answer.wrong, "wrong");
      this.drawForm();
      if (message.action === "tell") this.focusField();
    }
  }

  say(text, kind = "", button = null) {
    this.status.className = `weal-status ${kind}`;
    this.status.replaceChildren(text ?? "");
    if (button) this.status.append(" ", make("button", { type: "button", onclick: button[1] }, button[0]));
  }

  keys(event) {
    event.stopPropagation(); // keys of the notebook do nothing here
    const typing = event.target.closest("input, textarea, select");
    if (event.key === "u" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) this.undo();
  }

  undo() {
    const last = this.view.undo;
    if (last) this.send({ action: "undo", number: last.number, key: newKey() });
  }

  // drawing

  draw() {
    const tokens = this.view.rows.map((one) => one.row);
    if (this.focus === null || !tokens.includes(this.focus)) this.focus = tokens[0] ?? null;
    else if (this.leaving === this.focus && tokens.length > 1 && !this.partly()) this.focus = tokens[0];
    this.leaving = undefined;
    this.drawHead();
    this.drawRows();
    this.drawForm();
    this.drawFoot();
    this.n.max = String(Math.max(this.view.free ?? 0, 1));
    for (const select of this.selects) this.fillColumns(select);
    if (this.toField) this.focusField();
    this.toField = false;
    this.wantReport();
  }

  partly() { return this.row()?.saved.some((text) => text); } // other results of the row are missing

  drawHead() {
    const view = this.view, report = this.model.get("report") ?? {};
    const fresh = report.revision === view.revision;
    this.head.replaceChildren(
      make("div", { class: "weal-words" },
        make("div", { class: "weal-title" }, isolated(view.title ?? "weal"), make("span", {}, view.counts ?? "")),
        report.headline ? make("div", { class: "weal-headline" }, report.headline) : "",
        make("p", {}, view.next_step ?? "", report.advice && fresh ? ` ${report.advice}` : ""),
        view.problem || report.problem
          ? make("p", { class: "wrong", role: "alert" }, view.problem || report.problem) : ""),
      report.curve?.length > 1 ? curve(report) : "");
  }

  drawAsking() {
    const id = this.id("n");
    this.n = make("input", { id, type: "number", min: "1", value: "4", inputmode: "numeric" });
    this.same = make("select", { id: this.id("same") });
    this.few = make("select", { id: this.id("few") });
    this.selects = [this.same, this.few];
    this.atMost = make("input", { id: this.id("most"), type: "number", min: "1", value: "2" });
    this.where = make("input", { id: this.id("where"), type: "text", placeholder: "solvent is THF and temp < 90" });
    const field = (text, input) => make("div", {}, make("label", { for: input.id }, text), input);
    this.asking.append(make("form", {
      class: "weal-ask", onsubmit: (event) => { event.preventDefault(); this.ask(); },
    },
    make("label", { for: id }, "Rows"), this.n, make("button", { type: "submit" }, "Ask for rows"),
    make("details", {}, make("summary", {}, "Options of the batch"),
      make("div", { class: "weal-options" },
        field("One value in the batch of", this.same), field("At most so many values", this.atMost),
        field("of the column", this.few), field("Only rows where", this.where)))));
  }

  fillColumns(select) {
    const kept = select.value;
    select.replaceChildren(make("option", { value: "" }, "(any)"),
      ...(this.view.columns ?? []).map((name) => make("option", { value: name }, name)));
    select.value = [...select.options].some((one) => one.value === kept) ? kept : "";
  }

  ask() {
    this.send({
      action: "ask", key: newKey(), n: this.n.value, same: this.same.value, where: this.where.value,
      at_most_column: this.few.value, at_most: this.atMost.value,
    });
  }

  drawRows() {
    const rows = this.view.rows;
    if (!rows.length) return this.rows.replaceChildren();
    const more = this.view.waiting - rows.length;
    this.rows.replaceChildren(make("ul", { class: "weal-rows", "aria-label": "Rows that wait for a result" },
      ...rows.map((one) => make("li", {}, make("button", {
        type: "button", title: one.id,
        ...(one.row === this.focus ? { "aria-current": "true" } : {}),
        onclick: () => { this.focus = one.row; this.say(""); this.drawRows(); this.drawForm(); this.focusField(); },
      }, isolated(one.id)))),
      more > 0 ? make("li", {}, `and ${more} more`) : ""));
  }

  drawForm() {
    const row = this.row(), before = document.activeElement;
    const kept = this.form.contains(before) ? { id: before.id, at: before.selectionStart } : null;
    if (!row) return this.form.replaceChildren();
    const draft = this.draft(row.row), busy = this.sent !== null;
    const fields = this.view.fields.map((one, n) => this.field(one, n, row, draft));
    const note = this.id("note");
    this.form.replaceChildren(make("form", {
      class: "weal-row", novalidate: "", "aria-labelledby": this.id("row"),
      onsubmit: (event) => { event.preventDefault(); this.tell(false); },
    },
    make("div", { class: "weal-id", id: this.id("row") }, "Row ", make("strong", {}, isolated(row.id)),
      row.repeat ? " (measure it again)" : ""),
    make("dl", { class: "weal-cells" }, ...row.cells.map(([name, text]) =>
      make("div", {}, make("dt", {}, isolated(name)), make("dd", {}, isolated(text || "(empty)"))))),
    row.why ? make("details", { class: "weal-why" }, make("summary", {}, "Why this row"), row.why) : "",
    ...fields,
    draft.question ? make("div", { class: "weal-question", id: this.id("question"), role: "alert" },
      draft.question, " Correct it, or ",
      make("button", { type: "button", onclick: () => this.tell(true) }, "keep it: it is right")) : "",
    this.view.keeps_notes ? make("div", { class: "weal-note" }, make("label", { for: note }, "Note"),
      make("input", { id: note, type: "text", maxlength: "2000", value: draft.note,
        oninput: (event) => { draft.note = event.target.value; } })) : "",
    make("div", { class: "weal-buttons" },
      make("button", { type: "submit", class: "weal-save", disabled: busy }, "Save"),
      make("span", { class: "weal-apart" }),
      make("button", { type: "button", onclick: () => this.fail() }, "Run failed"),
      this.skipping(row))));
    if (kept?.id) this.restore(kept);
  }

  restore({ id, at }) {
    const found = document.getElementById(id);
    found?.focus({ preventScroll: true });
    if (found?.setSelectionRange && at !== null && at !== undefined) found.setSelectionRange(at, at);
  }

  field(one, n, row, draft) {
    const id = this.id(`q${n}`), wrong = draft.wrong?.[n];
    const described = wrong ? `${id}-wrong` : draft.question ? this.id("question") : `${id}-hint`;
    const predicted = row.predicted[n] ? `predicted ${row.predicted[n]}` : "";
    const saved = row.saved[n] ? `saved: ${row.saved[n]}` : "";
    const hint = make("span", { class: "weal-hint", id: `${id}-hint` }, [predicted, saved].filter(Boolean).join("; "));
    const error = wrong ? make("span", { class: "wrong", id: `${id}-wrong`, role: "alert" }, wrong) : "";
    const keep = (value) => { draft.values[n] = value; draft.question = ""; draft.wrong = null; draft.key = newKey(); };
    if (one.words.length) {
      return make("fieldset", { class: "weal-words-field", "aria-describedby": `${id}-hint` },
        make("legend", {}, isolated(one.title)),
        ...one.words.map((word, k) => make("label", {}, make("input", {
          type: "radio", name: id, id: k ? `${id}-${k}` : id, value: word, checked: draft.values[n] === word,
          onchange: () => keep(word),
        }), isolated(word))), hint, error);
    }
    return make("div", { class: "weal-field" }, make("label", { for: id }, isolated(one.title)),
      make("input", {
        id, type: "text", inputmode: "decimal", autocomplete: "off", maxlength: "400",
        value: draft.values[n] ?? "", "aria-describedby": described, ...(wrong ? { "aria-invalid": "true" } : {}),
        oninput: (event) => {
          const had = draft.question || draft.wrong;
          keep(event.target.value);
          if (had) this.drawForm();
        },
      }), hint, error);
  }

  focusField() {
    const found = document.getElementById(this.id("q0"));
    found?.focus({ preventScroll: true });
    found?.select?.();
  }

  tell(sure) {
    const row = this.row();
    if (!row) return;
    const draft = this.draft(row.row), values = this.view.fields.map((_, n) => draft.values[n] ?? "");
    this.send({ action: "tell", row: row.row, values, note: draft.note, sure, key: draft.key });
  }

  skipping(row) {
    const skip = (note) => this.send({ action: "skip", row: row.row, note, key: this.draft(row.row).key });
    const note = () => this.draft(row.row).note;
    if (!this.view.reasons.length) return make("button", { type: "button", onclick: () => skip("") }, "Skip");
    return make("details", { class: "weal-skip" }, make("summary", {}, "Skip"),
      make("div", { role: "group", "aria-label": "Why is it skipped?" },
        ...this.view.reasons.map((one) => make("button", { type: "button", onclick: () => skip(
          [one, note()].filter(Boolean).join(": ")) }, one)),
        make("button", { type: "button", onclick: () => skip(note()) }, "another reason (the note)")));
  }

  fail() {
    const row = this.row(), draft = this.draft(row.row);
    this.send({ action: "fail", row: row.row, note: draft.note, accident: false, key: draft.key });
  }

  drawFoot() {
    const last = this.view.undo;
    this.foot.replaceChildren(
      last ? make("button", { type: "button", onclick: () => this.undo(), "aria-keyshortcuts": "U" },
        "Undo ", isolated(last.text)) : "",
      make("span", {}, this.view.storage ?? ""));
  }
}

function curve(report) {
  const [w, h, left] = [220, 70, 4], svg = (tag, given) => {
    const found = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(given)) found.setAttribute(name, value);
    return found;
  };
  const xs = report.curve.map(([x]) => x), ys = report.curve.map(([, y]) => y);
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(0, ...ys), Math.max(...ys)];
  const at = ([x, y]) => [left + ((x - x0) / (x1 - x0 || 1)) * (w - 2 * left),
    h - left - ((y - y0) / (y1 - y0 || 1)) * (h - 2 * left)].map((one) => one.toFixed(1)).join(",");
  const said = `${report.curve_label}: ${ys[0].toPrecision(3)} at ${x0} labels, ${ys.at(-1).toPrecision(3)} at ${x1}`;
  const found = svg("svg", { viewBox: `0 0 ${w} ${h}`, class: "weal-curve", role: "img", "aria-label": said });
  found.append(svg("polyline", { points: report.curve.map(at).join(" ") }));
  const [cx, cy] = at(report.curve.at(-1)).split(",");
  found.append(svg("circle", { cx, cy, r: 3 }));
  return make("figure", { class: "weal-figure" }, found, make("figcaption", {},
    `${report.curve_label}, ${x0} to ${x1} labels`));
}

export default {
  render({ model, el }) {
    const display = new Display(model, el);
    return () => display.close();
  },
};
