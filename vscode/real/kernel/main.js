// A kernel for the test: a cell with the text `show("again")` displays what the companion displayed for the cell of that
// name (companion.json in the notebook's folder), as the Jupyter extension does: each display takes the other's place.
const vscode = require("vscode");

async function run(controller, cell) {
  const name = /^show\("(\w+)"\)/.exec(cell.document.getText())?.[1];
  const file = vscode.Uri.joinPath(cell.notebook.uri, "..", "companion.json");
  const bundles = JSON.parse(new TextDecoder().decode(await vscode.workspace.fs.readFile(file)))[name] ?? [];
  const execution = controller.createNotebookCellExecution(cell);
  execution.start(Date.now());
  await execution.clearOutput();
  for (const bundle of bundles) {
    const items = Object.entries(bundle).map(([mime, data]) =>
      typeof data === "string"
        ? vscode.NotebookCellOutputItem.text(data, mime)
        : vscode.NotebookCellOutputItem.json(data, mime),
    );
    await execution.replaceOutput([new vscode.NotebookCellOutput(items)]);
    if (bundle !== bundles.at(-1)) {
      await new Promise((done) => setTimeout(done, 2000));
    }
  }
  execution.end(true, Date.now());
}

exports.activate = (context) => {
  const controller = vscode.notebooks.createNotebookController("test-kernel", "jupyter-notebook", "Test kernel");
  controller.executeHandler = async (cells) => {
    for (const cell of cells) {
      await run(controller, cell);
    }
  };
  const prefer = (notebook) => controller.updateNotebookAffinity(notebook, vscode.NotebookControllerAffinity.Preferred);
  vscode.workspace.notebookDocuments.forEach(prefer);
  context.subscriptions.push(controller, vscode.workspace.onDidOpenNotebookDocument(prefer));
};
