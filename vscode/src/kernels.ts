// The companion's comm, where the Jupyter extension lends a kernel's connection. It does so to the publishers that it
// lists, and to all in VS Code Insiders; to others it shows an error. So it is asked only where the user has chosen it.

import type { Kernel } from "@jupyterlab/services";
import * as vscode from "vscode";

import { Link } from "../../python/labextension/src/link";
import { Links } from "../../python/labextension/src/links";

const JUPYTER = "ms-toolsai.jupyter";

/** The part of the Jupyter extension's unstable API that is used here. */
interface IService {
  onDidChangeKernels: vscode.Event<void>;
  getKernel(uri: vscode.Uri): { connection?: { kernel?: Kernel.IKernelConnection | null } } | undefined;
}

export class Kernels implements vscode.Disposable {
  constructor() {
    this._links.changed.connect(() => this._changed.fire());
  }

  /** Fires when a companion has sent something, or a kernel has come or gone. */
  get changed(): vscode.Event<void> {
    return this._changed.event;
  }

  dispose(): void {
    this._disposed = true;
    this._service = null;
    this._listens?.dispose();
    this._changed.dispose();
  }

  /** Asks the Jupyter extension, once, if the user has chosen it; else gives up what it has lent. */
  async choose(wanted: boolean): Promise<void> {
    if (!wanted) {
      this._service = null;
      this._asked = false;
      this._listens?.dispose();
      return;
    }
    if (this._asked || this._disposed) {
      return;
    }
    this._asked = true;
    try {
      const jupyter = await vscode.extensions.getExtension(JUPYTER)?.activate();
      const service = (await jupyter?.getKernelService?.()) as IService | undefined;
      if (!service || !this._asked || this._disposed) {
        return; // there is none, or it lends nothing, or nobody wants it any more
      }
      this._service = service;
      this._listens = service.onDidChangeKernels(() => this._changed.fire());
      this._changed.fire();
    } catch (why) {
      console.debug("ipytracer: the Jupyter extension lends no connection:", why);
    }
  }

  /** Returns the link to the companion of a notebook; null where there is none. */
  of(notebook: vscode.NotebookDocument): Link | null {
    try {
      return this._links.of(this._service?.getKernel(notebook.uri)?.connection?.kernel);
    } catch {
      return null; // the API is not stable
    }
  }

  private _links = new Links();
  private _changed = new vscode.EventEmitter<void>();
  private _service: IService | null = null;
  private _listens: vscode.Disposable | null = null;
  private _asked = false;
  private _disposed = false;
}
