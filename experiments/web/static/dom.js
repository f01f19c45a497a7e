// Making and finding elements.

export const element = (tag, properties = {}, children = []) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

export const byId = (id) => document.getElementById(id);

export const keyed = (made, key) => {
  made.dataset.key = key;
  return made;
};
