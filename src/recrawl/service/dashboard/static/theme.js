// Before anything is drawn: the theme that was chosen, if one was; else the system's.
"use strict";
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("recrawl-theme");
  } catch {
    // Storage may be switched off; then the system's theme is used.
  }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
  document.documentElement.classList.add("js");
})();
