// VS Code's extension of ipytracer: figures in the status bar of each cell of a Jupyter notebook, and the memory of the
// notebook's process in the window's. It shows what the companion in the kernel has written, and executes nothing.

import * as vscode from "vscode";

import { Bar } from "./bar";
import { Cells } from "./cells";
import { Kernels } from "./kernels";

const NOTEBOOK = "jupyter-notebook";
const SECTION = "ipytracer";

export function activate(context: vscode.ExtensionContext): void {
  const kernels = new Kernels();
  const cells = new Cells(kernels);
  const bar = new Bar(kernels);

  const choose = () => {
    const chosen = vscode.workspace.getConfiguration(SECTION);
    cells.on = chosen.get<boolean>("atEachCell", true);
    void kernels.choose(chosen.get<boolean>("comm", false));
  };
  choose();
  context.subscriptions.push(
    kernels,
    cells,
    bar,
    vscode.notebooks.registerNotebookCellStatusBarItemProvider(NOTEBOOK, cells),
    vscode.window.onDidChangeActiveNotebookEditor(() => bar.refresh()),
    vscode.workspace.onDidChangeNotebookDocument((change) => {
      for (const one of change.notebook.notebookType === NOTEBOOK ? change.cellChanges : []) {
        const told = one.outputs && cells.heard(one.cell);
        if (told) {
          bar.heard(change.notebook, told);
        }
      }
    }),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration(SECTION)) {
        choose();
      }
    }),
    vscode.commands.registerCommand("ipytracer.toggle", () => {
      const chosen = vscode.workspace.getConfiguration(SECTION);
      const on = chosen.get<boolean>("atEachCell", true);
      return chosen.update("atEachCell", !on, vscode.ConfigurationTarget.Global);
    }),
  );
}
