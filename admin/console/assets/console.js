// What the pages do beyond HTML: the live stream, the dialog, the charts, and small conveniences. Every page works
// without it, but stands still.
import { draw, point, hour } from "./charts.js";

const byID = (id) => document.getElementById(id);

// The reader's zone, so that the server writes times in it.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone) document.cookie = `sluice_zone=${encodeURIComponent(zone)};path=/admin;max-age=31536000;samesite=lax`;

// --- The live stream: one a page, closed while the page is hidden, so that many tabs do not use up the connections.
let source = null;
let address = "";

function follow() {
  const at = document.querySelector("[data-live]")?.dataset.live ?? "";
  if (at === address && source && source.readyState !== EventSource.CLOSED) return;
  stop();
  if (!at || document.hidden) return;
  address = at;
  source = new EventSource(at);
  source.addEventListener("open", () => offline(false));
  source.addEventListener("error", () => offline(true));
  source.addEventListener("fragment", (e) => put(JSON.parse(e.data)));
  source.addEventListener("hour", (e) => hour(JSON.parse(e.data)));
  source.addEventListener("point", (e) => point(JSON.parse(e.data)));
}

function stop() {
  source?.close();
  source = null;
  address = "";
}

function offline(is) {
  const note = byID("offline");
  if (note) note.hidden = !is;
}

// put morphs the new form of a part into the page: focus and open menus stay.
function put({ id, html }) {
  const at = byID(id);
  if (!at) return;
  Idiomorph.morph(at, html, { morphStyle: "outerHTML" });
  htmx.process(byID(id));
}

document.addEventListener("visibilitychange", () => (document.hidden ? stop() : follow()));
addEventListener("pagehide", stop);
addEventListener("pageshow", follow);

// --- The dialog: what a link with data-dialog leads to, shown above the page.
const dialog = byID("dialog");

document.addEventListener("htmx:afterSwap", (e) => {
  if (e.target !== dialog || !dialog.childElementCount || dialog.open) return;
  // The title has the focus at first: a key that is still held down must not send the form.
  const title = byID("dialog-title");
  if (title) Object.assign(title, { tabIndex: -1, autofocus: true });
  dialog.showModal();
});
document.addEventListener("click", (e) => {
  const close = e.target.closest("#dialog [data-close]");
  if (close) {
    e.preventDefault();
    dialog.close();
  }
});
dialog?.addEventListener("close", () => dialog.replaceChildren());

// --- The menu of a phone.
document.addEventListener("click", (e) => {
  const button = e.target.closest("[data-menu]");
  if (!button) return;
  const open = byID(button.getAttribute("aria-controls")).toggleAttribute("data-open");
  button.setAttribute("aria-expanded", String(open));
});

// --- A slider and a number that say the same.
document.addEventListener("input", (e) => {
  const twin = e.target.dataset?.twin && byID(e.target.dataset.twin);
  if (!twin || twin.value === e.target.value) return;
  twin.value = e.target.value;
});

// --- Copy what stands in another element.
document.addEventListener("click", async (e) => {
  const button = e.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(byID(button.dataset.copy).textContent);
  const was = button.textContent;
  button.textContent = button.dataset.copied;
  setTimeout(() => (button.textContent = was), 1500);
});

// --- Fields that another one asks for: data-when="repeat=cron".
function fit() {
  for (const part of document.querySelectorAll("[data-when]")) {
    const [name, value] = part.dataset.when.split("=");
    part.hidden = part.closest("form").elements[name].value !== value;
  }
}
document.addEventListener("change", fit);
fit();

// --- The zones that this browser knows, to choose from.
const zones = byID("zones");
if (zones) zones.replaceChildren(...Intl.supportedValuesOf("timeZone").map((name) => new Option(name, name)));

// --- The waiting page as the form has it, while it is filled in. A fresh frame each time: loading into one that has been
// used would make a step of the way back.
let due = 0;
for (const kind of ["input", "change"]) {
  document.addEventListener(kind, (e) => {
    const form = e.target.closest("form");
    const name = e.target.name ?? "";
    if (!form?.querySelector("[data-preview]") || !/wait_page|^(state|page_lang|scheme|logo)$/.test(name)) return;
    clearTimeout(due);
    due = setTimeout(() => {
      const old = form.querySelector("iframe");
      const fresh = old.cloneNode();
      fresh.removeAttribute("src");
      old.replaceWith(fresh);
      form.requestSubmit(form.querySelector("[data-preview]"));
    }, 300);
  });
}

// --- Buttons that only pages without this script need.
for (const b of document.querySelectorAll("[data-noscript]")) b.hidden = true;

document.addEventListener("htmx:afterSettle", () => {
  draw();
  follow();
});
draw();
follow();
