// What every page has: colours, the key to the search box, copying, forms that send themselves.
import { browse } from "./browse.js";
import { live } from "./live.js";

const root = document.documentElement;

function isDark() {
  if (root.dataset.theme) return root.dataset.theme === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

document.querySelector("#theme")?.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  try {
    localStorage.setItem("theme", root.dataset.theme);
  } catch {
    // It holds for this page then.
  }
});

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  document.querySelector("#q")?.select();
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = button.parentElement.querySelector("pre, code").textContent;
  let said = "Copied";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without https there is no clipboard: select it, so that a key does the rest.
    getSelection().selectAllChildren(button.parentElement.querySelector("pre, code"));
    said = "Selected";
  }
  button.textContent = said;
  document.querySelector("#said").textContent = said;
  setTimeout(() => (button.textContent = "Copy"), 1600);
});

// A channel has versions of its own: the version of another one is not carried over.
document.addEventListener("change", (event) => {
  const form = event.target.closest("form[data-send]");
  if (!form) return;
  if (event.target.name === "channel") form.elements.version?.setAttribute("disabled", "");
  form.requestSubmit();
});

// On a phone not all tabs have room: the one that is looked at is shown.
const tab = document.querySelector(".tabs [aria-current]");
const tabs = tab?.closest(".tabs");
if (tabs) tabs.scrollLeft = tab.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2;

browse(document.querySelector("#browse"));
live(document.querySelector("[data-live]"));
// Only where something can be changed.
if (document.querySelector("#sign-in")) {
  const [{ visitor }, { deeds }] = await Promise.all([import("./visitor.js"), import("./deeds.js")]);
  visitor();
  deeds();
}
