// The user's choices on the page, in one place. The drawing code is notified when they change.
import { Session } from "./data";

export interface State {
  session: Session;
  meter: number;
  row: number;
  query: string;
  tab: string;
  view: string;
  read: number;
}

type Listener = (changed: Set<keyof State>) => void;
const listeners: Listener[] = [];
let state: State;
let waiting: Set<keyof State> | null = null;

export const get = (): State => state;
export function begin(first: State): void {
  state = first;
}
export function listen(l: Listener): void {
  listeners.push(l);
}

/** Changes choices. The drawing code is notified once for all changes of a moment. */
export function set(change: Partial<State>): void {
  const changed = new Set<keyof State>();
  for (const key of Object.keys(change) as (keyof State)[]) if (state[key] !== change[key]) changed.add(key);
  if (changed.size === 0) return;
  state = { ...state, ...change };
  if (waiting) {
    for (const key of changed) waiting.add(key);
    return;
  }
  waiting = changed;
  queueMicrotask(() => {
    const all = waiting!;
    waiting = null;
    for (const l of listeners) l(all);
  });
}

/** Returns the browser's storage for the page; in a sandbox, such as a mail program's, it keeps nothing. */
export function remembered(key: string): string | null {
  try {
    return window.localStorage.getItem("ipytracer." + key);
  } catch {
    return null;
  }
}
export function remember(key: string, value: string): void {
  try {
    window.localStorage.setItem("ipytracer." + key, value);
  } catch {
    /* then the next visit begins anew */
  }
}
