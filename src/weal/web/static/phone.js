/* What the page Label does for phones: the sign of a number, and the head of the row above the keyboard. */
"use strict";
(() => {
  // A number pad may have no minus. The field keeps the focus, so that the keyboard stays open.
  const button = (event) => event.target.closest("[data-sign]");
  document.addEventListener("pointerdown", (event) => { if (button(event)) event.preventDefault(); });
  document.addEventListener("click", (event) => {
    if (!button(event)) return;
    const field = button(event).previousElementSibling.querySelector("input");
    const text = field.value.trimStart();
    field.value = /^[-\u2212]/.test(text) ? text.slice(1) : `-${text.replace(/^\+/, "")}`;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
  });

  // Inputs that come later push the field down: it stays on the screen while it has the focus.
  document.addEventListener("htmx:afterSettle", () => {
    if (document.activeElement.matches(".card.focus input")) document.activeElement.scrollIntoView({ block: "nearest" });
  });

  // Safari moves the page below the top of the screen while its keyboard is open: the head follows.
  const view = window.visualViewport;
  if (!view) return;
  const follow = () => document.documentElement.style.setProperty("--view-top", `${Math.max(view.offsetTop, 0)}px`);
  view.addEventListener("resize", follow);
  view.addEventListener("scroll", follow);
})();
