// JupyterLab's extension of ipytracer: a line at each cell, a figure in the status bar, a panel with the session. It
// shows the messages of the companion in the kernel, and executes nothing there.

import { ILayoutRestorer, JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import { INotebookTracker, NotebookActions, NotebookPanel } from "@jupyterlab/notebook";
import { IStatusBar } from "@jupyterlab/statusbar";
import { LabIcon } from "@jupyterlab/ui-components";

import { Badges, codeCells, pairsOf } from "./badges";
import { IRun } from "./figures";
import { Link } from "./link";
import { Links } from "./links";
import { Panel } from "./panel";
import { Status } from "./status";

const OPEN = "ipytracer:open";
const SWITCH = "ipytracer:badges";

const icon = new LabIcon({
  name: "ipytracer:icon",
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">' +
    '<path class="jp-icon3" fill="#616161" ' +
    'd="M3 20h18v2H3zM4 18V9h3v9zm5 0V3h3v15zm5 0v-6h3v6zm5 0v-9h2v9z"/></svg>',
});

function linkOf(links: Links, panel: NotebookPanel | null): Link | null {
  return links.of(panel?.sessionContext.session?.kernel);
}

/** Shows the cell of a run, in whichever open notebook of that kernel it is. */
function go(app: JupyterFrontEnd, tracker: INotebookTracker, links: Links, link: Link, r: IRun): boolean {
  let found = false;
  tracker.forEach((panel) => {
    if (found || linkOf(links, panel) !== link) {
      return;
    }
    const cells = codeCells(panel);
    const at =
      cells.find((c) => c.model.id === r.cell) ??
      (r.cell === null ? cells.find((c) => pairsOf(link, cells).get(c.model.id)?.last === r) : undefined);
    if (at) {
      found = true;
      const index = panel.content.widgets.indexOf(at);
      app.shell.activateById(panel.id);
      panel.content.deselectAll();
      panel.content.activeCellIndex = index;
      void panel.content.scrollToItem(index, "center").catch(() => undefined);
      at.removeClass("jp-ipytracer-found");
      void at.ready.then(() => at.addClass("jp-ipytracer-found"));
    }
  });
  return found;
}

function activate(
  app: JupyterFrontEnd,
  tracker: INotebookTracker,
  bar: IStatusBar | null,
  palette: ICommandPalette | null,
  restorer: ILayoutRestorer | null,
): void {
  const links = new Links();
  const badges = new Set<Badges>();
  let on = true;

  const panel = new Panel({ go: (link, r) => go(app, tracker, links, link, r) });
  panel.title.icon = icon;
  app.shell.add(panel, "right", { rank: 900 });
  restorer?.add(panel, panel.id);
  const status = new Status(() => void app.commands.execute(OPEN));

  const update = () => {
    const link = linkOf(links, tracker.currentWidget);
    status.tell(link);
    panel.tell(link);
  };
  links.changed.connect(update);
  tracker.currentChanged.connect(update);
  tracker.widgetAdded.connect((_, notebook) => {
    const one = new Badges(notebook, links);
    one.on = on;
    badges.add(one);
    notebook.disposed.connect(() => badges.delete(one));
    notebook.sessionContext.kernelChanged.connect(update);
  });
  NotebookActions.executed.connect((_, { notebook, cell }) => {
    if (cell.model.sharedModel.getSource().includes("ipytracer")) {
      const parent = tracker.find((p) => p.content === notebook) ?? null;
      void linkOf(links, parent)?.probe();
    }
  });

  bar?.registerStatusItem("ipytracer:status", {
    item: status,
    align: "right",
    rank: 40,
    isActive: () => status.isActive,
    activeStateChanged: status.activeChanged,
  });

  app.commands.addCommand(OPEN, {
    label: "Memory of Cells (ipytracer)",
    icon,
    execute: () => {
      app.shell.activateById(panel.id);
      void linkOf(links, tracker.currentWidget)?.probe();
    },
  });
  app.commands.addCommand(SWITCH, {
    label: "Show Memory at Each Cell (ipytracer)",
    isToggled: () => on,
    execute: () => {
      on = !on;
      badges.forEach((one) => (one.on = on));
    },
  });
  palette?.addItem({ command: OPEN, category: "Notebook Operations" });
  palette?.addItem({ command: SWITCH, category: "Notebook Operations" });
}

const plugin: JupyterFrontEndPlugin<void> = {
  id: "ipytracer:plugin",
  description: "Memory figures of ipytracer at cells, in the status bar and in a panel.",
  autoStart: true,
  requires: [INotebookTracker],
  optional: [IStatusBar, ICommandPalette, ILayoutRestorer],
  activate,
};

export default plugin;
