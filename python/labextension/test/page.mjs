// One page of JupyterLab with a notebook.
const PATIENCE = 120000; // ms; the machine may be busy

export class Page {
  static async open(browser, info, notebook) {
    const tab = await browser.newPage();
    await tab.setViewport({ width: 1400, height: 900 });
    const page = new Page(tab, notebook);
    tab.on('console', m => {
      if (m.type() === 'error') {
        page.errors.push(m.text());
      }
    });
    tab.on('pageerror', e => page.errors.push(String(e)));
    await tab.goto(`${info.url}lab/tree/${notebook}?reset&token=figures`);
    await page.ready();
    return page;
  }

  constructor(tab, notebook) {
    this.tab = tab;
    this.notebook = notebook;
    this.errors = [];
  }

  /** Until the notebook is there and its kernel idle. */
  async ready() {
    await this.until('the notebook with its kernel', () =>
      this.tab.evaluate(() => {
        const widget = window.jupyterapp?.shell.currentWidget;
        return widget?.sessionContext?.session?.kernel?.status === 'idle' && widget.content?.widgets?.length > 0;
      })
    );
  }

  /** Wait until that gives something; fails with what it was. */
  async until(what, look) {
    const deadline = Date.now() + PATIENCE;
    for (;;) {
      const found = await look();
      if (found) {
        return found;
      }
      if (Date.now() > deadline) {
        await this.picture(process.env.LAB_FAILED ?? '/dev/null').catch(() => undefined);
        throw new Error(`${this.notebook}: not seen: ${what}; errors of the page: ${this.errors.slice(0, 5).join(' | ')}`);
      }
      await new Promise(resolve => setTimeout(resolve, 100));
    }
  }

  /** Run a command of JupyterLab's, without waiting for what it starts. */
  command(id, args = {}) {
    return this.tab.evaluate((id, args) => void window.jupyterapp.commands.execute(id, args).catch(() => {}), id, args);
  }

  /** Scroll to a cell. */
  show(id) {
    return this.tab.evaluate(async id => {
      const notebook = window.jupyterapp.shell.currentWidget.content;
      const index = notebook.widgets.findIndex(w => w.model.id === id);
      notebook.activeCellIndex = index;
      await notebook.scrollToItem(index, 'center').catch(() => {});
    }, id);
  }

  /** The badge of a cell: its figures, text and place; null where it has none that is drawn. */
  badge(id) {
    return this.tab.evaluate(id => {
      const notebook = window.jupyterapp.shell.currentWidget.content;
      const cell = notebook.widgets.find(w => w.model.id === id);
      const nodes = cell ? cell.node.querySelectorAll('.jp-ipytracer-badge') : [];
      if (nodes.length !== 1 || !nodes[0].dataset.window || !nodes[0].isConnected) {
        return nodes.length > 1 ? { twice: true } : null;
      }
      const { window: number, need, consumed } = nodes[0].dataset;
      const count = cell.model.executionCount;
      return { window: Number(number), need: Number(need), consumed: Number(consumed), text: nodes[0].textContent, title: nodes[0].title, count };
    }, id);
  }

  picture(path) {
    return this.tab.screenshot({ path, type: 'png' });
  }

  close() {
    return this.tab.close();
  }
}
