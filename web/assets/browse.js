// Filtering without leaving the page. The server answers the same question with the part of the page
// that changes; addresses are those of the form, so that Back, bookmarks and no script work alike.

const PAUSE = 120;

export function browse(form) {
  if (!form) return;
  const box = document.querySelector("#q");
  let running = null;
  let pause = 0;

  function address() {
    const pairs = [...new FormData(form)].filter(([, value]) => value !== "");
    const query = new URLSearchParams(pairs).toString();
    return query ? `/?${query}` : "/";
  }

  async function show(url, keep) {
    running?.abort();
    running = new AbortController();
    let html;
    try {
      const query = new URL(url, location).search;
      const answer = await fetch(`/browse${query}`, { signal: running.signal });
      if (!answer.ok) throw new Error(answer.statusText);
      html = await answer.text();
    } catch (error) {
      if (error.name !== "AbortError") location.assign(url);
      return;
    }
    swap(html);
    if (keep === "push") history.pushState(null, "", url);
    if (keep === "replace") history.replaceState(null, "", url);
  }

  // Focus and what is unfolded outlive the exchange.
  function swap(html) {
    const fresh = new DOMParser().parseFromString(html, "text/html");
    const focused = document.activeElement?.id;
    const open = [...form.querySelectorAll("details[id][open]")].map((one) => one.id);
    for (const part of ["results", "filters"]) {
      const [before, after] = [document.getElementById(part), fresh.getElementById(part)];
      const scrolled = before.scrollTop;
      before.replaceWith(after);
      after.scrollTop = scrolled;
    }
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    if (focused && focused !== document.activeElement?.id) {
      document.getElementById(focused)?.focus({ preventScroll: true });
    }
    document.querySelector("#said").textContent = document.querySelector("#found").textContent;
    document.title = fresh.title || document.title;
  }

  const fold = document.querySelector("#fold");
  fold.addEventListener("click", () => {
    const isOpen = form.classList.toggle("filtering");
    fold.setAttribute("aria-expanded", String(isOpen));
  });
  box.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(() => show(address(), "replace"), PAUSE);
  });
  form.addEventListener("change", (event) => {
    if (event.target === box) return;
    show(address(), "push");
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(pause);
    show(address(), "push");
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-browse]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const url = new URL(link.href);
    box.value = url.searchParams.get("q") ?? "";
    show(url.pathname + url.search, link.dataset.browse || "push");
  });
  addEventListener("popstate", () => {
    box.value = new URLSearchParams(location.search).get("q") ?? "";
    show(location.pathname + location.search, "");
  });
}
