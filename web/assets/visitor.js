// Whoever changes the cluster does it with a token of their own. It is kept for this tab alone, and only
// ever sent in a header that no other site can make a browser send.

const KEY = "visitor";
const dialog = document.querySelector("#sign-in-dialog");
const button = document.querySelector("#sign-in");
let kept = read();

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  } catch {
    return null;
  }
}

function keep(visitor) {
  kept = visitor;
  try {
    if (visitor) sessionStorage.setItem(KEY, JSON.stringify(visitor));
    else sessionStorage.removeItem(KEY);
  } catch {
    // It holds for this page then.
  }
  show();
}

function show() {
  button.textContent = kept ? "Sign out" : "Sign in";
  button.title = kept ? `You are ${kept.name}` : "Sign in with a Kubernetes token";
}

async function send(token, method, path, body) {
  // Browsers know whether nobody on the way can read what is sent.
  if (!isSecureContext) throw new Error("No token is sent without TLS. Open this page by https, or on the machine itself.");
  const headers = { Authorization: `Bearer ${token}` };
  if (body) headers["Content-Type"] = "application/json";
  const options = { method, headers, body: body && JSON.stringify(body), credentials: "omit", cache: "no-store", redirect: "error" };
  const answer = await fetch(path, options);
  const said = await answer.json();
  if (answer.ok) return said;
  const { message, hint } = said.error;
  const error = new Error([message, hint].filter(Boolean).map(sentence).join(" "));
  error.status = answer.status;
  throw error;
}

export function sentence(text) {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

// Asks the cluster for something in the name of the visitor.
export async function ask(method, path, body) {
  try {
    return await send(kept?.token ?? "", method, path, body);
  } catch (error) {
    if (error.status === 401) keep(null);
    throw error;
  }
}

// Goes on as soon as somebody is signed in; not at all if they do not want to.
export function signedIn() {
  if (kept) return Promise.resolve(true);
  const form = dialog.querySelector("form");
  const problem = dialog.querySelector(".problem");
  const field = dialog.querySelector("#token");
  problem.textContent = "";
  field.value = "";
  dialog.showModal();
  field.focus();
  return new Promise((resolve) => {
    form.onsubmit = async (event) => {
      event.preventDefault();
      const token = field.value.trim();
      problem.textContent = "";
      try {
        const { name } = await send(token, "GET", "/api/v1/visitor");
        keep({ token, name });
        field.value = "";
        dialog.close();
      } catch (error) {
        problem.textContent = error.message;
      }
    };
    dialog.onclose = () => resolve(Boolean(kept));
  });
}

export function visitor() {
  if (!button) return;
  show();
  button.addEventListener("click", async () => {
    if (kept) {
      keep(null);
      document.querySelector("#said").textContent = "Signed out";
    } else if (await signedIn()) {
      document.querySelector("#said").textContent = `Signed in as ${kept.name}`;
    }
  });
}
