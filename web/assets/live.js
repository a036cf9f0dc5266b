// What is installed, as it changes: an event says that something did, the server draws it anew.
import { follow } from "./events.js";

export function live(part) {
  if (!part) return;
  let running = false;
  let again = false;

  async function draw() {
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      const answer = await fetch(location.href);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const after = fresh.getElementById(part.id);
      const before = document.getElementById(part.id);
      if (after && after.innerHTML !== before.innerHTML) {
        const focused = before.contains(document.activeElement) && document.activeElement.id;
        before.replaceWith(after);
        if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
      }
    } catch {
      // The next event tries again.
    }
    running = false;
    if (again) {
      again = false;
      draw();
    }
  }

  const names = (part.dataset.events ?? "message").split(" ");
  follow(part.dataset.live, Object.fromEntries(names.map((name) => [name, draw])));
}
