// Before the first paint: the chosen colours, and that there is a script at all.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // No storage: the system's colours will do.
  }
})();
