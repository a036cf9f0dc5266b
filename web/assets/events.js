// What the server tells by itself. Browsers come back after a broken connection, but not after a
// refusal (the server restarts, or has too many listeners); then we do, less and less often.

const SOON = 1000;
const AT_LAST = 60000;

export function follow(address, events) {
  let source = null;
  let timer = 0;
  let pause = SOON;

  function open() {
    source = new EventSource(address);
    source.addEventListener("open", () => (pause = SOON));
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED) return;
      timer = setTimeout(open, pause);
      pause = Math.min(2 * pause, AT_LAST);
    });
    for (const [name, told] of Object.entries(events)) source.addEventListener(name, told);
  }

  open();
  return {
    close() {
      clearTimeout(timer);
      source.close();
    },
  };
}
