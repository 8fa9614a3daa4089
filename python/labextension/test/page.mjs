// One page of JupyterLab with a notebook: its kernel, its cells, and the badges at them.
import { PATIENCE, Tab } from "./tab.mjs";

const TO_ANSWER = 45000; // ms, for a kernel that may have hung as it started

export class Page extends Tab {
  static async open(browser, info, notebook) {
    const tab = await browser.newPage();
    await tab.setViewport({ width: 1400, height: 900 });
    tab.setDefaultTimeout(PATIENCE); // pages are opened and loaded again, too
    const page = new Page(tab, notebook);
    tab.on("console", (m) => {
      if (m.type() === "error") {
        page.errors.push(m.text());
      }
    });
    tab.on("pageerror", (e) => page.errors.push(String(e)));
    await tab.goto(`${info.url}lab/tree/${notebook}?reset&token=figures`);
    await page.ready();
    if (!(await page.answers())) {
      console.log(`${notebook}: the kernel did not answer after its start; again`);
      await page.restart();
    }
    return page;
  }

  /** Wait until commands go to the notebook and it has all its cells, its session is there, and its kernel is idle. */
  async ready() {
    await this.until("the notebook with its kernel", () =>
      this.tab.evaluate((path) => {
        const app = window.jupyterapp;
        const panel = app?.shell.currentWidget;
        if (panel?.context?.path !== path || !panel.context.isReady || !app.commands.isEnabled("notebook:run-cell")) {
          return false;
        }
        const cells = panel.content.model?.cells.length;
        const session = panel.sessionContext;
        return (
          cells > 0 &&
          panel.content.widgets.length === cells &&
          session.isReady &&
          session.session?.kernel?.status === "idle"
        );
      }, this.notebook),
    );
  }

  /** Whether the kernel answers what it is asked. That it is idle says only that it has answered its server. */
  answers() {
    return this.at((panel, patience) => {
      const kernel = panel.sessionContext.session.kernel;
      const late = new Promise((resolve) => setTimeout(() => resolve(false), patience));
      const asked = kernel.requestKernelInfo().then(() => kernel.requestCommInfo({}));
      return Promise.race([
        late,
        asked.then(
          () => true,
          () => false,
        ),
      ]);
    }, TO_ANSWER);
  }

  /** Scroll to a cell, and make it the active one. */
  show(id) {
    return this.at(async (panel, id) => {
      const index = panel.content.widgets.findIndex((w) => w.model.id === id);
      panel.content.deselectAll();
      panel.content.activeCellIndex = index;
      await panel.content.scrollToItem(index, "center").catch(() => {});
    }, id);
  }

  /**
   * Run one cell, to its end. It is run again where JupyterLab says that it has not run it (its connection was made
   * anew meanwhile). Where JupyterLab lost the answer, a cell of an idle kernel runs for ever: it is run again in a
   * page that was loaded anew.
   */
  async run(id) {
    for (let tries = 0; tries < 4; tries++) {
      await this.show(id);
      const why = await this.at(
        (panel, [id, patience]) => {
          const cell = panel.content.activeCell;
          if (cell?.model.id !== id) {
            return `the active cell is ${cell?.model.id}`;
          }
          const late = new Promise((resolve) => setTimeout(() => resolve("late"), patience));
          const ran = window.jupyterapp.commands
            .execute("notebook:run-cell")
            .then(
              (ok) =>
                ok === true && cell.model.executionCount !== null
                  ? null
                  : `JupyterLab says ${ok}, its number is ${cell.model.executionCount}`,
              String,
            );
          return Promise.race([late, ran]);
        },
        [id, PATIENCE],
      );
      if (why === null) {
        return this.idle();
      }
      if (why === "late") {
        if (!(await this.rests())) {
          throw await this.failure(`${id} does not end`);
        }
        await this.at((panel) => panel.context.save());
        await this.reload();
      }
      console.log(`${this.notebook}: ${id} has not run: ${why}; again`);
    }
    throw await this.failure(`${id} does not run`);
  }

  /** Whether the kernel says that nothing runs. */
  rests() {
    return this.at((panel) => panel.sessionContext.session?.kernel?.status === "idle");
  }

  idle() {
    return this.until("an idle kernel", () =>
      this.at(
        (panel) =>
          panel.sessionContext.session?.kernel?.status === "idle" &&
          panel.content.widgets.every((w) => w.model.executionState !== "running"),
      ),
    );
  }

  source(id, text) {
    return this.at(
      (panel, [id, text]) => panel.content.widgets.find((w) => w.model.id === id).model.sharedModel.setSource(text),
      [id, text],
    );
  }

  index(id) {
    return this.at((panel, id) => panel.content.widgets.findIndex((w) => w.model.id === id), id);
  }

  count() {
    return this.at((panel) => panel.content.widgets.length);
  }

  /** The badge of a cell that is scrolled to. */
  async shown(id) {
    return this.until(`a badge at ${id}`, async () => {
      await this.show(id);
      const badge = await this.badge(id);
      return badge && !badge.twice && badge;
    });
  }

  /** The badge of a cell that has run, with its final figures. They come after the kernel has said that it is idle. */
  async final(id) {
    return this.until(`the final badge at ${id}`, async () => {
      const badge = await this.shown(id);
      return !/[▶✎↺]/.test(badge.text) && badge;
    });
  }

  async badgeAt(index) {
    const id = await this.at((panel, index) => panel.content.widgets[index].model.id, index);
    await this.show(id);
    return this.badge(id);
  }

  /** What is below a cell, as text. */
  output(id) {
    return this.at((panel, id) => panel.content.widgets.find((w) => w.model.id === id).outputArea.node.textContent, id);
  }

  /** Count what is asked of the companion from now on. */
  countQuestions() {
    return this.at((panel) => {
      window.questions = [];
      panel.sessionContext.session.kernel.anyMessage.connect((_, { msg, direction }) => {
        if (direction === "send" && msg.header.msg_type === "comm_msg") {
          window.questions.push(msg.content.data.ask);
        }
      });
    });
  }

  /** What was asked, but for what each cell needed: that is asked after every cell. */
  questions() {
    return this.tab.evaluate(() => window.questions.filter((asked) => asked !== "needed"));
  }

  /** The id of the active cell, once it can be seen. */
  activeInSight() {
    return this.at((panel) => {
      const cell = panel.content.activeCell;
      const box = cell.node.getBoundingClientRect();
      const around = panel.content.node.getBoundingClientRect();
      return (
        cell.node.isConnected &&
        box.bottom > around.top &&
        box.top < around.bottom &&
        cell.model.id.startsWith("more") === false &&
        cell.model.id
      );
    });
  }

  async saved() {
    await this.command("docmanager:save");
    await this.until("that it is saved", () => this.at((panel) => !panel.context.model.dirty));
  }

  async reload() {
    await this.tab.reload();
    await this.ready();
    await this.until("an answer of the kernel", () => this.answers());
  }

  /**
   * Restart the kernel. It is restarted again where a request came before ipykernel 7.2 had its locks: such a kernel
   * never answers (TraitError: _control_lock).
   */
  async restart() {
    for (let tries = 0; tries < 4; tries++) {
      const began = await this.at((panel, patience) => {
        const late = new Promise((resolve) => setTimeout(() => resolve(false), patience));
        return Promise.race([
          late,
          panel.sessionContext.session.kernel.restart().then(
            () => true,
            () => false,
          ),
        ]);
      }, TO_ANSWER);
      if (began && (await this.answers())) {
        return this.idle();
      }
      console.log(`${this.notebook}: the kernel did not answer after its restart; again`);
    }
    throw new Error("the kernel does not answer after restarts");
  }

  /** The badge of a cell: its figures, text and place; null where it has none that is drawn. */
  badge(id) {
    return this.tab.evaluate((id) => {
      const notebook = window.jupyterapp.shell.currentWidget.content;
      const cell = notebook.widgets.find((w) => w.model.id === id);
      const nodes = cell ? cell.node.querySelectorAll(".jp-ipytracer-badge") : [];
      if (nodes.length !== 1 || !nodes[0].dataset.window || !nodes[0].isConnected) {
        return nodes.length > 1 ? { twice: true } : null;
      }
      const { window: number, need, consumed } = nodes[0].dataset;
      const count = cell.model.executionCount;
      return {
        window: Number(number),
        need: Number(need),
        consumed: Number(consumed),
        text: nodes[0].textContent,
        title: nodes[0].title,
        count,
      };
    }, id);
  }
}
