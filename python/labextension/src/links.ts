// The links to kernels of a page: one for each kernel, for any number of notebooks.

import { Kernel } from "@jupyterlab/services";
import { ISignal, Signal } from "@lumino/signaling";

import { Link } from "./link";

export class Links {
  /** Emits when a link has changed, or is new. */
  get changed(): ISignal<this, Link> {
    return this._changed;
  }

  /** Returns the link to a kernel; null where this page has no comms with it. */
  of(kernel: Kernel.IKernelConnection | null | undefined): Link | null {
    if (!kernel || kernel.isDisposed) {
      return null;
    }
    const known = this._links.get(kernel.id);
    if (known && !known.isDisposed) {
      return known;
    }
    if (!kernel.handleComms) {
      return null;
    }
    const link = new Link(kernel);
    this._links.set(kernel.id, link);
    link.changed.connect(() => this._changed.emit(link));
    kernel.disposed.connect(() => {
      if (this._links.get(kernel.id) === link) {
        this._links.delete(kernel.id);
      }
    });
    return link;
  }

  private _changed = new Signal<this, Link>(this);
  private _links = new Map<string, Link>();
}
