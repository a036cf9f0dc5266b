// What is installed, as it changes: an event says that something did, the server draws it anew.

export function live(part) {
  if (!part) return;
  const events = new EventSource(part.dataset.live);
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

  for (const name of (part.dataset.events ?? "message").split(" ")) {
    events.addEventListener(name, draw);
  }
}
