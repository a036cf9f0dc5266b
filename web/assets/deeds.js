// Install, approve, uninstall: what happens is shown first, then done, then followed.
import { follow } from "./events.js";
import { ask, sentence, signedIn } from "./visitor.js";

const dialog = document.querySelector("#deed-dialog");
const part = (css) => dialog.querySelector(css);

const DEEDS = {
  install: {
    title: (of) => `Install ${of.package}`,
    go: "Install",
    path: () => "/api/v1/installations",
    body: (of) => ({
      package: of.package, catalog: of.catalog, channel: of.channel, version: of.version,
      namespace: of.namespace, installMode: of.mode,
    }),
    preview: installed,
    doing: (of, seen) => ({ package: of.package, namespace: seen.namespace, subscription: seen.subscription }),
    isOver: (place) => place?.health === "healthy",
    over: (of) => `${of.package} runs.`,
  },
  approve: {
    title: (of) => `Approve ${of.plan}`,
    go: "Approve",
    path: (of) => `${place(of)}/approve`,
    body: (of) => ({ installPlan: of.plan }),
    preview: (of) => [group("This goes ahead", [`InstallPlan ${of.plan} in namespace ${of.namespace}`, `to ${of.next}`])],
    isOver: (now) => now && !now.planToApprove && now.health === "healthy",
    over: (of) => `${of.subscription} is up to date.`,
  },
  uninstall: {
    title: (of) => `Uninstall ${of.subscription}`,
    go: "Uninstall",
    isDangerous: true,
    choices: [["everything", "CRDs without objects and what was installed for it as well"]],
    path: (of) => `${place(of)}/uninstall`,
    body: (_, chosen) => chosen,
    preview: removed,
    isOver: (now) => !now,
    over: (of) => `${of.subscription} is gone.`,
  },
};

function place(of) {
  return `/api/v1/installations/${encodeURIComponent(of.namespace)}/${encodeURIComponent(of.subscription)}`;
}

export function deeds() {
  if (!dialog) return;
  for (const one of document.querySelectorAll("dialog [data-close]")) {
    one.addEventListener("click", () => one.closest("dialog").close());
  }
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-deed]");
    if (!button) return;
    if (await signedIn()) await offer(DEEDS[button.dataset.deed], { ...button.dataset }, button.id);
  });
}

async function offer(deed, of, from) {
  const form = part("form");
  const go = part("#deed-go");
  let following = null;
  part("#deed-title").textContent = deed.title(of);
  part("[data-close]").textContent = "Cancel";
  go.hidden = false;
  go.textContent = deed.go;
  go.classList.toggle("danger", Boolean(deed.isDangerous));
  part("#deed-progress").textContent = "";
  part("#deed-choices").replaceChildren(...(deed.choices ?? []).map(choice));
  const chosen = () => Object.fromEntries((deed.choices ?? []).map(([name]) => [name, form.elements[name].checked]));
  const look = async () => {
    go.disabled = true;
    const seen = await attempt(() => see(deed, of, chosen()));
    part("#deed-body").replaceChildren(...(seen ? deed.preview(of, seen) : []));
    go.disabled = !seen;
    return seen;
  };
  part("#deed-choices").onchange = look;
  form.onsubmit = async (event) => {
    event.preventDefault();
    go.disabled = true;
    const done = await attempt(() => ask("POST", deed.path(of), deed.body(of, chosen())));
    if (!done) return;
    go.hidden = true;
    part("#deed-choices").replaceChildren();
    part("[data-close]").textContent = "Close";
    part("[data-close]").focus();
    following = watch(deed, deed.doing ? deed.doing(of, done) : of);
  };
  // What was clicked may have been drawn anew meanwhile.
  dialog.onclose = () => {
    following?.close();
    document.getElementById(from)?.focus();
  };
  dialog.showModal();
  await look();
}

async function see(deed, of, chosen) {
  if (deed === DEEDS.approve) return {};
  return ask("POST", deed.path(of), { ...deed.body(of, chosen), dryRun: true });
}

async function attempt(work) {
  part(".problem").textContent = "";
  try {
    return await work();
  } catch (error) {
    part(".problem").textContent = error.message;
    return null;
  }
}

// Tells how far it is, as the server says it.
function watch(deed, of) {
  const progress = part("#deed-progress");
  progress.textContent = "It has begun.";
  const tell = (event) => {
    const all = JSON.parse(event.data).installations;
    const now = all.find((one) => one.namespace === of.namespace && one.subscription === of.subscription);
    if (deed.isOver(now)) {
      progress.textContent = deed.over(of);
      events.close();
    } else if (now) {
      progress.textContent = sentence(now.waitsBecause || now.message || "it is on its way");
    }
  };
  const events = follow("/api/v1/events", { installations: tell });
  return events;
}

function installed(of, seen) {
  const parts = [];
  for (const one of seen.components) {
    if (one.outcome === "unsolvable") parts.push(group("It cannot be installed now", [one.summary]));
    const install = (one.install ?? []).map((it) => `${it.bundle}${it.package === of.package ? "" : ", which it needs"}`);
    if (install.length) parts.push(group("What is installed", install));
  }
  parts.push(group("What is made for that", seen.makes.map(named)));
  parts.push(group("What is there already", seen.keeps.map(named)));
  return parts.filter(Boolean);
}

function removed(_, seen) {
  const parts = seen.goes.map((step) => group(sentence(`goes: ${step.title}`).slice(0, -1), step.objects.map(named)));
  parts.push(group("What stays", seen.stays.map((one) => `${named(one.object)}: ${one.why}`)));
  parts.push(group("What you may not look at", seen.notLookedAt));
  return parts.filter(Boolean);
}

function named(object) {
  return `${object.kind} ${object.namespace ? `${object.namespace}/` : ""}${object.name}`;
}

// Everything is text: names are the words of strangers.
function group(title, items) {
  if (!items.length) return null;
  const [section, heading, list] = ["section", "h3", "ul"].map((name) => document.createElement(name));
  heading.textContent = title;
  for (const item of items) {
    const line = document.createElement("li");
    line.textContent = item;
    list.append(line);
  }
  section.append(heading, list);
  return section;
}

function choice([name, label]) {
  const [outer, box] = ["label", "input"].map((kind) => document.createElement(kind));
  outer.className = "option";
  box.type = "checkbox";
  box.name = name;
  outer.append(box, label);
  return outer;
}
