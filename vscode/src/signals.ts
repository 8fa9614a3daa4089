// Signals in the place of @lumino/signaling, for the sources that are shared with JupyterLab's extension: so the
// program carries no library. Its types are that library's.

import type { Slot } from "@lumino/signaling";

type Connection<T, U> = { slot: Slot<T, U>; self: unknown };

const signals = new WeakMap<object, Set<Signal<any, any>>>();

export class Signal<T extends object, U> {
  constructor(readonly sender: T) {
    const those = signals.get(sender) ?? new Set();
    signals.set(sender, those.add(this));
  }

  /** Calls slot at each emit, with that this; returns false where it does already. */
  connect(slot: Slot<T, U>, self?: unknown): boolean {
    if (this._connections.some((one) => one.slot === slot && one.self === self)) {
      return false;
    }
    this._connections = [...this._connections, { slot, self }];
    return true;
  }

  disconnect(slot: Slot<T, U>, self?: unknown): boolean {
    const before = this._connections.length;
    this._connections = this._connections.filter((one) => one.slot !== slot || one.self !== self);
    return this._connections.length < before;
  }

  /** Calls all slots; one that throws keeps none of the others from being called. */
  emit(args: U): void {
    for (const { slot, self } of this._connections) {
      try {
        slot.call(self, this.sender, args);
      } catch (why) {
        console.error(why);
      }
    }
  }

  /** Disconnects all slots of an object's own signals. */
  static clearData(object: object): void {
    signals.get(object)?.forEach((one) => (one._connections = []));
  }

  private _connections: readonly Connection<T, U>[] = [];
}
