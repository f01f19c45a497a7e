// The keyboard's place on the page: it must not be lost where something is drawn anew or hidden.

const FOCUSABLE = "button, input, select, textarea, summary, [tabindex]";

export const home = () => document.querySelector("#board [tabindex='0']");
const isShown = (element) => element?.isConnected && element.checkVisibility();

// Replace what `root` holds. The focus goes to the new element with the same `data-key`, or else to
// the one in the same place.
export function redraw(root, ...children) {
  const active = root.contains(document.activeElement) ? document.activeElement : null;
  const place = active ? [...root.querySelectorAll(FOCUSABLE)].indexOf(active) : -1;
  root.replaceChildren(...children);
  if (!active) return;
  const all = [...root.querySelectorAll(FOCUSABLE)];
  const same = active.dataset.key && all.find((one) => one.dataset.key === active.dataset.key);
  (same || all[Math.min(place, all.length - 1)] || home()).focus({ preventScroll: true });
}

export function setHidden(element, hidden) {
  const had = hidden && element.contains(document.activeElement);
  element.hidden = hidden;
  if (had) home().focus({ preventScroll: true });
}

// A button that cannot be used now keeps the focus that it has.
export const setDisabled = (button, disabled) => button.setAttribute("aria-disabled", String(disabled));

export const isDisabled = (button) => button.getAttribute("aria-disabled") === "true";

// Open a dialog; when it closes, the focus is back where it was, or where that is now.
export function openDialog(dialog) {
  const opener = document.activeElement;
  const { key } = opener.dataset;
  dialog.addEventListener("close", () => {
    if (isShown(document.activeElement) && document.activeElement !== document.body) return;
    const same = isShown(opener) && opener !== document.body ? opener
      : key && document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    (same || home()).focus({ preventScroll: true });
  }, { once: true });
  dialog.showModal();
}
