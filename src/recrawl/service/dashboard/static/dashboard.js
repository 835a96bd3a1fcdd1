// What moves on the pages: live numbers, changes as they are found, differences on request.
"use strict";

const themeButton = document.getElementById("theme");
const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};
const nameTheme = () => {
  themeButton.textContent = isDark() ? "Light" : "Dark";
  themeButton.setAttribute("aria-label", isDark() ? "Use the light theme" : "Use the dark theme");
};
themeButton.hidden = false;
nameTheme();
themeButton.addEventListener("click", () => {
  const chosen = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = chosen;
  try {
    localStorage.setItem("recrawl-theme", chosen);
  } catch {
    // It holds for this page, then.
  }
  nameTheme();
  Charts.redraw();
});

Charts.start();

// A difference is read when somebody opens it.
const showDiff = async (details) => {
  if (!details.open || details.dataset.loaded) return;
  details.dataset.loaded = "yes";
  const target = details.querySelector(".fragment");
  try {
    const response = await fetch(details.dataset.diff.replace(/^\/page\?/, "/diff?"), { headers: { Accept: "text/html" } });
    const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
    const found = parsed.querySelector(".diff, .problem");
    if (found) target.replaceChildren(document.adoptNode(found));
  } catch {
    delete details.dataset.loaded;
  }
};
document.addEventListener("toggle", (event) => event.target.dataset?.diff && showDiff(event.target), true);

const element = (name, className, text) => {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

const SVG = "http://www.w3.org/2000/svg";
const shareBar = (share) => {
  const label = `${Math.round(100 * share)} %`;
  const bar = document.createElementNS(SVG, "svg");
  bar.setAttribute("class", "bar thin");
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", `${label} of the text differs`);
  const part = document.createElementNS(SVG, "rect");
  part.setAttribute("class", "fill-changed");
  part.setAttribute("width", `${100 * share}%`);
  part.setAttribute("height", "100%");
  bar.append(part);
  return [bar, element("span", "soft", label)];
};

const changeItem = (change) => {
  const item = element("li", "change fresh-change");
  const link = element("a", "url", change.url);
  link.href = change.link;
  const extent = element("span", "extent");
  if (change.share !== null) extent.append(...shareBar(change.share));
  else if (change.reason) extent.append(element("span", "soft", change.reason));
  const time = element("time", "soft", change.age);
  time.dateTime = `${change.at.replace(" ", "T")}Z`;
  time.title = change.at;
  item.append(element("span", `badge kind-${change.kind}`, change.kind), link, extent, time);
  if (change.diff) {
    const details = element("details", "more");
    details.dataset.diff = change.diff;
    details.append(element("summary", "", "What changed"), element("div", "fragment", "…"));
    item.append(details);
  }
  return item;
};

// Changes that are found while the list is paused wait until it goes on.
const list = document.querySelector("[data-changes]");
const pause = document.getElementById("pause");
const streamStatus = document.getElementById("stream-status");
let isPaused = false;
let waiting = [];
let arrived = 0;
const showChanges = (changes) => {
  list.querySelector(".empty")?.remove();
  for (const change of changes) list.prepend(changeItem(change));
  while (list.children.length > Number(list.dataset.changes)) list.lastElementChild.remove();
};
const tellChanges = () => {
  if (!streamStatus) return;
  streamStatus.textContent = isPaused
    ? `Paused; ${waiting.length} new`
    : arrived
      ? `Live; ${arrived} since the page was opened`
      : "Live";
};
if (pause) {
  pause.hidden = false;
  pause.addEventListener("click", () => {
    isPaused = !isPaused;
    pause.setAttribute("aria-pressed", String(isPaused));
    pause.textContent = isPaused ? "Continue" : "Pause";
    if (!isPaused) showChanges(waiting.splice(0));
    tellChanges();
  });
}

// How long ago changes were found, by the clock of the service.
const ago = (seconds) => {
  if (seconds < 1.5) return "just now";
  const units = [[86400, "days"], [3600, "h"], [60, "min"], [1, "s"]];
  const [size, name] = units.find(([one]) => seconds >= one) || [1, "s"];
  const number = seconds / size;
  const written = number < 10 && size > 1 ? number.toPrecision(2) : Math.round(number);
  return `${written} ${name === "days" && Number(written) === 1 ? "day" : name} ago`;
};
const showAges = (now) => {
  for (const time of document.querySelectorAll(".change > time")) {
    time.textContent = ago(now - Date.parse(time.dateTime) / 1e3);
  }
};

// What changes slowly is read again now and then, while somebody looks.
const REFRESH_EVERY = 15_000;
const refresh = async () => {
  if (document.hidden) return;
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!response.ok || response.redirected) return;
    const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const part of document.querySelectorAll("[data-refresh]")) {
      const found = parsed.getElementById(part.id);
      if (!found || part.contains(document.activeElement)) continue;
      part.replaceChildren(...document.adoptNode(found).childNodes);
      Charts.refresh(part);
    }
  } catch {
    // The stream says that there is no connection.
  }
};
if (document.querySelector("[data-refresh]")) setInterval(refresh, REFRESH_EVERY);

const isLive = document.querySelector("[data-live], [data-changes]");
if (isLive) {
  const connection = document.getElementById("connection");
  const source = new EventSource("/live");
  source.addEventListener("open", () => {
    connection.textContent = "";
    tellChanges();
  });
  source.addEventListener("error", () => {
    connection.textContent = "Not connected; this page may be out of date.";
  });
  source.addEventListener("sample", (event) => {
    const { sample, texts } = JSON.parse(event.data);
    for (const place of document.querySelectorAll("[data-live]")) {
      const text = texts[place.dataset.live];
      if (text !== undefined && place.textContent !== text) place.textContent = text;
      if (place.dataset.liveKey) place.dataset.key = texts[place.dataset.liveKey];
    }
    for (const bar of document.querySelectorAll("[data-live-width]")) {
      bar.setAttribute("width", texts[bar.dataset.liveWidth]);
    }
    showAges(sample[0]);
    Charts.add(sample);
  });
  source.addEventListener("changes", (event) => {
    const { changes } = JSON.parse(event.data);
    arrived += changes.length;
    if (!list) return;
    if (isPaused) waiting = waiting.concat(changes).slice(-200);
    else showChanges(changes);
    tellChanges();
  });
  addEventListener("pagehide", () => source.close());
}
