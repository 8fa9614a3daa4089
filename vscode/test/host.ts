// A fake of VS Code, of the part that the extension uses: its types are those of @types/vscode, so that tsc compares
// the two. The bundle of the tests has it in the place of the module "vscode".

import type * as vscode from "vscode";

type Api = typeof vscode;

class Emitter<T> implements vscode.EventEmitter<T> {
  private _listeners = new Set<(e: T) => unknown>();
  event: vscode.Event<T> = (listener, self) => {
    const one = (e: T) => listener.call(self, e);
    this._listeners.add(one);
    return { dispose: () => void this._listeners.delete(one) };
  };
  fire(data: T): void {
    [...this._listeners].forEach((listener) => listener(data));
  }
  dispose(): void {
    this._listeners.clear();
  }
}
export { Emitter as EventEmitter };

export class NotebookCellStatusBarItem implements vscode.NotebookCellStatusBarItem {
  tooltip?: string;
  priority?: number;
  accessibilityInformation?: vscode.AccessibilityInformation;
  constructor(
    public text: string,
    public alignment: vscode.NotebookCellStatusBarAlignment,
  ) {}
}

export class ThemeColor implements vscode.ThemeColor {
  constructor(readonly id: string) {}
}

export const NotebookCellStatusBarAlignment = { Left: 1, Right: 2 };
export const StatusBarAlignment = { Left: 1, Right: 2 };
export const NotebookCellKind = { Markup: 1, Code: 2 };
export const ConfigurationTarget = { Global: 1, Workspace: 2, WorkspaceFolder: 3 };

/** What a test changes and looks at. */
export const host = {
  settings: new Map<string, unknown>(),
  provider: null as vscode.NotebookCellStatusBarItemProvider | null,
  commands: new Map<string, () => unknown>(),
  bar: { text: "", tooltip: "", shown: false, warns: false },
  jupyter: null as { getKernelService(): Promise<unknown> } | null,
  editor: undefined as vscode.NotebookEditor | undefined,
  changed: new Emitter<vscode.NotebookDocumentChangeEvent>(),
  chosen: new Emitter<vscode.ConfigurationChangeEvent>(),
  switched: new Emitter<vscode.NotebookEditor | undefined>(),

  /** Changes a setting, as its page does. */
  choose(name: string, value: unknown): void {
    host.settings.set(name, value);
    host.chosen.fire({ affectsConfiguration: (section) => name.startsWith(section) });
  },
};

export const notebooks: Pick<Api["notebooks"], "registerNotebookCellStatusBarItemProvider"> = {
  registerNotebookCellStatusBarItemProvider(kind, provider) {
    if (kind !== "jupyter-notebook") throw new Error(`no notebooks of kind ${kind}`);
    host.provider = provider;
    return { dispose: () => void (host.provider = null) };
  },
};

const bar = {
  id: "",
  alignment: 2,
  priority: undefined,
  command: undefined,
  name: undefined as string | undefined,
  text: "",
  tooltip: undefined as string | vscode.MarkdownString | undefined,
  color: undefined,
  backgroundColor: undefined as vscode.ThemeColor | undefined,
  accessibilityInformation: undefined as vscode.AccessibilityInformation | undefined,
  show: () =>
    void (host.bar = { text: bar.text, tooltip: String(bar.tooltip), shown: true, warns: !!bar.backgroundColor }),
  hide: () => void (host.bar.shown = false),
  dispose: () => void (host.bar.shown = false),
};

export const window: Pick<Api["window"], "createStatusBarItem" | "onDidChangeActiveNotebookEditor"> & {
  readonly activeNotebookEditor: vscode.NotebookEditor | undefined;
} = {
  get activeNotebookEditor() {
    return host.editor;
  },
  onDidChangeActiveNotebookEditor: host.switched.event,
  createStatusBarItem: () => bar as vscode.StatusBarItem,
};

export const workspace: Pick<Api["workspace"], "onDidChangeNotebookDocument" | "onDidChangeConfiguration"> & {
  getConfiguration(section: string): Pick<vscode.WorkspaceConfiguration, "update"> & {
    get<T>(name: string, otherwise: T): T;
  };
} = {
  onDidChangeNotebookDocument: host.changed.event,
  onDidChangeConfiguration: host.chosen.event,
  getConfiguration: (section) => ({
    get: <T>(name: string, otherwise: T) => (host.settings.get(`${section}.${name}`) as T) ?? otherwise,
    update: async (name: string, value: unknown) => host.choose(`${section}.${name}`, value),
  }),
};

export const commands: Pick<Api["commands"], "registerCommand"> = {
  registerCommand(name, callback) {
    host.commands.set(name, callback);
    return { dispose: () => void host.commands.delete(name) };
  },
};

export const extensions = {
  getExtension: (id: string) =>
    id === "ms-toolsai.jupyter" && host.jupyter ? { activate: async () => host.jupyter } : undefined,
};

/** An output of a cell, as the Jupyter extension makes one of a display. */
export function output(bundle: Record<string, unknown>): vscode.NotebookCellOutput {
  const items = Object.entries(bundle).map(([mime, data]) => ({
    mime,
    data: new TextEncoder().encode(typeof data === "string" ? data : JSON.stringify(data)),
  }));
  return { items, metadata: { outputType: "display_data" } };
}

/** A cell of a notebook that a test edits and runs. */
export class Cell {
  kind = NotebookCellKind.Code;
  outputs: vscode.NotebookCellOutput[] = [];
  notebook!: vscode.NotebookDocument;
  constructor(
    public text: string,
    public fragment: string,
  ) {}
  document = {
    uri: { toString: () => `vscode-notebook-cell:/a%20b.ipynb#${this.fragment}` },
    getText: () => this.text,
  };
  get cell(): vscode.NotebookCell {
    return this as unknown as vscode.NotebookCell;
  }

  /** Puts outputs in the place of those that there are, as a run does. */
  show(...bundles: Record<string, unknown>[]): void {
    this.outputs = bundles.map(output);
    const change = { cell: this.cell, outputs: this.outputs, document: undefined, metadata: undefined };
    const cellChanges = [{ ...change, executionSummary: undefined }];
    host.changed.fire({ notebook: this.notebook, metadata: undefined, contentChanges: [], cellChanges });
  }

  /** Returns the items below the cell: those of the provider. */
  items(): vscode.NotebookCellStatusBarItem[] {
    const token = { isCancellationRequested: false, onCancellationRequested: new Emitter<unknown>().event };
    const found = host.provider?.provideCellStatusBarItems(this.cell, token);
    return (found ?? []) as vscode.NotebookCellStatusBarItem[];
  }

  texts(): string[] {
    return this.items().map((item) => item.text);
  }
}

/** Opens a notebook of cells, and shows it. */
export function open(...cells: Cell[]): vscode.NotebookDocument {
  const notebook = {
    notebookType: "jupyter-notebook",
    uri: { toString: () => "file:///a%20b.ipynb" },
    getCells: () => cells.map((one) => one.cell),
  } as unknown as vscode.NotebookDocument;
  cells.forEach((one) => (one.notebook = notebook));
  host.editor = { notebook } as vscode.NotebookEditor;
  host.switched.fire(host.editor);
  return notebook;
}
