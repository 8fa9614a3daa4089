// One tab of a browser with JupyterLab: its commands, and what its status bar and panel show.
export const PATIENCE = 120000; // ms; the machine may be busy

export class Tab {
  constructor(tab, notebook) {
    this.tab = tab;
    this.notebook = notebook;
    this.errors = [];
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
        throw await this.failure(`not seen: ${what}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** An error, with the state of the page. */
  async failure(what) {
    await this.picture(process.env.LAB_FAILED ?? "/dev/null").catch(() => undefined);
    const state = await this.tab
      .evaluate(() => {
        const panel = window.jupyterapp?.shell.currentWidget;
        const kernel = panel?.sessionContext?.session?.kernel;
        const cells = panel?.content?.widgets ?? [];
        return JSON.stringify({
          kernel: kernel && [kernel.status, kernel.connectionStatus],
          active: panel?.content?.activeCell?.model.id,
          running: cells.filter((w) => w.model.executionState === "running").map((w) => w.model.id),
          dialogs: [...document.querySelectorAll(".jp-Dialog, .Toastify__toast")].map((d) => d.textContent),
          panel: document.querySelector(".jp-ipytracer-panel")?.textContent.slice(-300),
        });
      })
      .catch(String);
    return new Error(
      `${this.notebook}: ${what}; errors of the page: ${this.errors.slice(0, 5).join(" | ")}; its state: ${state}`,
    );
  }

  /** Run a command of JupyterLab's, without waiting for what it starts. */
  command(id, args = {}) {
    return this.tab.evaluate(
      (id, args) => void window.jupyterapp.commands.execute(id, args).catch((why) => console.error(`${id}: ${why}`)),
      id,
      args,
    );
  }

  /** Something of the notebook: look is called in the page with the notebook's widget and the argument. */
  at(look, argument) {
    const given = JSON.stringify(argument ?? null);
    const body = `(async () => (${look})(window.jupyterapp.shell.currentWidget, ${given}))()`;
    return this.tab.evaluate(body);
  }

  /**
   * The number of times that badges are brought up to date in two seconds while nothing happens. It counts the pause
   * before an update, which nothing else in the page has.
   */
  refreshes() {
    return this.tab.evaluate(
      () =>
        new Promise((done) => {
          const before = window.setTimeout;
          let found = 0;
          window.setTimeout = (f, ms, ...rest) => {
            found += ms === 50 && /_refresh/.test(String(f)) ? 1 : 0;
            return before(f, ms, ...rest);
          };
          before(() => {
            window.setTimeout = before;
            done(found);
          }, 2000);
        }),
    );
  }

  status() {
    return this.tab.evaluate(() => {
      const node = document.querySelector(".jp-ipytracer-status");
      const box = node?.getBoundingClientRect();
      if (!box || box.width === 0) {
        return null;
      }
      return {
        text: node.textContent,
        title: node.title,
        window: Number(node.dataset.window),
        total: Number(node.dataset.total),
      };
    });
  }

  ranking() {
    return this.tab.evaluate(() =>
      [...document.querySelectorAll(".jp-ipytracer-ranking tbody tr")].map((r) => ({
        window: Number(r.dataset.window),
        need: Number(r.dataset.need),
      })),
    );
  }

  /** Press the summary of a section of the panel, as who uses a keyboard. */
  async unfold(what) {
    await this.tab.focus(`.jp-ipytracer-section[data-look=${what}] > summary`);
    await this.tab.keyboard.press("Enter");
  }

  /** The variables that the panel lists, in its order, and by which column. */
  variables() {
    return this.tab.evaluate(() => {
      const table = document.querySelector(".jp-ipytracer-variables");
      const by = table?.querySelector("th:not([aria-sort=none])");
      const rows = [...(table?.querySelectorAll("tbody tr") ?? [])];
      return {
        by: by && `${by.dataset.column} ${by.ariaSort}`,
        rows: rows.map((r) => ({
          name: r.dataset.name,
          bytes: Number(r.dataset.bytes),
          text: r.textContent,
          leads: r.querySelector("button") !== null,
        })),
      };
    });
  }

  verdicts() {
    return this.tab.evaluate(() => [...document.querySelectorAll(".jp-ipytracer-verdict")].map((v) => v.textContent));
  }

  /** The tables of the panel of which columns are out of sight, as the text of their heads. */
  outOfSight() {
    return this.tab.evaluate(() => {
      const panel = document.querySelector(".jp-ipytracer-panel");
      const edge = panel.getBoundingClientRect().left + panel.clientWidth + 1;
      const cells = [...panel.querySelectorAll("th, td")].filter(
        (c) => c.offsetWidth > 0 && c.getBoundingClientRect().right > edge,
      );
      const wide = [...panel.querySelectorAll(".jp-ipytracer-wide")].filter((w) => w.scrollWidth > w.clientWidth + 1);
      const found = [...cells.slice(0, 5), ...wide].map((n) => n.textContent.slice(0, 80));
      return found.length ? [`the panel has ${panel.clientWidth} pixels`, ...found] : [];
    });
  }

  /** Scroll to the first node of a selector. */
  reveal(selector) {
    return this.tab.evaluate(
      (selector) => document.querySelector(selector).scrollIntoView({ block: "start" }),
      selector,
    );
  }

  press(selector) {
    return this.tab.evaluate((selector) => document.querySelector(selector).click(), selector);
  }

  find(selector, text) {
    return this.tab.evaluate(
      (selector, text) => document.querySelector(selector)?.textContent.includes(text),
      selector,
      text,
    );
  }

  picture(path) {
    return this.tab.screenshot({ path, type: "png" });
  }

  close() {
    return this.tab.close();
  }
}
