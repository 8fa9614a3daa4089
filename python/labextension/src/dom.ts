// Elements of the panel. Text is only ever inserted as text.

export type Child = Node | string;

export function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  className: string,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(name);
  node.className = className;
  node.append(...children);
  return node;
}

export function button(className: string, said: string, title: string, act: () => void): HTMLButtonElement {
  const node = make("button", className, said);
  node.title = title;
  node.addEventListener("click", act);
  return node;
}

export function header(names: string[], texts: number[]): HTMLElement {
  const row = make("tr", "");
  names.forEach((name, i) => row.append(make("th", texts.includes(i) ? "jp-mod-text" : "", name)));
  return make("thead", "", row);
}
