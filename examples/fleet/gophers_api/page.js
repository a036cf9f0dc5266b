"use strict";
// Shows the list of gophers, and each change of it as the server tells it.
const list = document.getElementById("gophers");
const count = document.getElementById("count");
const state = document.getElementById("state");
const empty = document.getElementById("empty");
const cards = new Map();

function card() {
  const item = document.createElement("li");
  const picture = document.createElement("img");
  const name = document.createElement("strong");
  const who = document.createElement("small");
  item.append(picture, name, who);
  return { item, picture, name, who };
}

function show(gophers) {
  const here = new Set(gophers.map((gopher) => gopher.id));
  for (const [id, { item }] of cards) {
    if (!here.has(id)) {
      item.remove();
      cards.delete(id);
    }
  }
  // Those who stay stay where they are, so that only newcomers move.
  for (const gopher of gophers) {
    if (!cards.has(gopher.id)) {
      cards.set(gopher.id, card());
      list.append(cards.get(gopher.id).item);
    }
    const { picture, name, who } = cards.get(gopher.id);
    if (picture.getAttribute("src") !== gopher.url) picture.setAttribute("src", gopher.url);
    picture.alt = "";
    name.textContent = gopher.name;
    who.textContent = gopher.displayname;
  }
  count.textContent = gophers.length === 1 ? "1 gopher" : `${gophers.length} gophers`;
  empty.hidden = gophers.length > 0;
}

function live(is) {
  state.textContent = is ? "live" : "connecting";
  state.classList.toggle("live", is);
}

// How long is waited before the server is asked again that turned us away, in milliseconds.
const AGAIN = 1000;

function follow() {
  const events = new EventSource("events");
  events.onopen = () => live(true);
  events.onmessage = (event) => show(JSON.parse(event.data));
  events.onerror = () => {
    live(false);
    // It connects again by itself when the server was away, but not after an answer that was no.
    if (events.readyState === EventSource.CLOSED) setTimeout(follow, AGAIN);
  };
}
follow();
