// What the page remembers of a person's choices.

export function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch { /* A browser may forbid it; then it is not remembered. */ }
}

export function remembered(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

// "light" or "dark"; without either the system's choice holds.
export function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
}

export function toggleTheme() {
  const { theme } = document.documentElement.dataset;
  const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  setTheme(isDark ? "light" : "dark");
  remember("theme", document.documentElement.dataset.theme);
}
