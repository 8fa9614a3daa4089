// One kernel, and the messages of its companion. The extension opens the comm, and only where a companion has shown
// itself: by transient data beside a display, or by its sign among the kernel's comms. Nothing is ever executed.

import { Kernel, KernelMessage } from "@jupyterlab/services";
import { JSONObject } from "@lumino/coreutils";
import { IDisposable } from "@lumino/disposable";
import { ISignal, Signal } from "@lumino/signaling";

import { bag, hello, IHello, integer, IRun, ITable, list, PROTOCOL, run, table, TARGET, text } from "./figures";

const MOST_RUNS = 2000;
const MOST_QUESTIONS = 4;
const MOST_FAILED = 10; // searches for a companion that were cut off, in a row
const TO_ANSWER = 60000; // ms that an answer may take: a cell may run meanwhile

interface IQuestion {
  resolve: (found: { [key: string]: unknown }) => void;
  reject: (why: Error) => void;
  timer: ReturnType<typeof setTimeout>;
}

export class Link implements IDisposable {
  constructor(readonly kernel: Kernel.IKernelConnection) {
    kernel.iopubMessage.connect(this._heard, this);
    kernel.statusChanged.connect(this._status, this);
    kernel.connectionStatusChanged.connect(this._connected, this);
    kernel.disposed.connect(this.dispose, this);
    void this.probe();
  }

  /** Emits when anything has changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** The tracer at the other end; null while no companion is known. */
  get hello(): IHello | null {
    return this._hello;
  }

  /** The runs in the order in which they began, those of earlier processes of this kernel first. */
  get runs(): readonly IRun[] {
    return this._runs;
  }

  /** The runs of the current process. */
  get current(): IRun[] {
    return this._runs.filter((r) => this.isCurrent(r));
  }

  /** Reports whether a run is of the current process. */
  isCurrent(r: IRun): boolean {
    return r.session === this._session && !this._gone;
  }

  /** Returns the run of the same cell before that one; undefined where there is none. */
  before(r: IRun): IRun | undefined {
    let at = this._runs.indexOf(r) - 1;
    while (at >= 0 && this._runs[at].cell !== r.cell) {
      at--;
    }
    return this._runs[at];
  }

  /** The running cell, as last reported; null where none runs, or not long enough. */
  get running(): IRun | null {
    return this._running;
  }

  /** Whether there were more cells than were reported. */
  get cut(): boolean {
    return this._cut;
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    this._lose();
    Signal.clearData(this);
  }

  /** Checks whether a companion is loaded: one message, which executes nothing. */
  async probe(): Promise<void> {
    if (this._comm || this._probing || this._disposed) {
      return;
    }
    this._probing = true;
    try {
      await this.kernel.info;
      const reply = await this.kernel.requestCommInfo({ target_name: TARGET });
      const content = reply.content;
      if (content.status === "ok" && Object.values(content.comms).some((c) => c.target_name === TARGET)) {
        this._open();
      }
    } catch {
      this._again(); // the connection or the kernel was restarted meanwhile
    } finally {
      this._probing = false;
    }
  }

  private _again(): void {
    if (this._failed++ < MOST_FAILED && !this._disposed) {
      setTimeout(() => void this.probe(), 1000);
    }
  }

  private _connected(_: Kernel.IKernelConnection, status: Kernel.ConnectionStatus): void {
    if (status === "connected") {
      this._failed = 0;
      void this.probe();
    }
  }

  /** Has the companion answer a question with a table. */
  async ask(what: string, more: JSONObject = {}): Promise<ITable> {
    return table((await this.asks(what, more)).table);
  }

  /**
   * Has the companion answer a question that a user asked. It rejects with the companion's sentence, or after a minute.
   * The answer is not checked.
   */
  asks(what: string, more: JSONObject = {}): Promise<{ [key: string]: unknown }> {
    const comm = this._comm;
    if (!comm || this._questions.size >= MOST_QUESTIONS) {
      return Promise.reject(new Error(comm ? "too many questions at once" : "no companion is loaded in this kernel"));
    }
    const id = this._next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this._questions.delete(id);
        reject(new Error("no answer came; does a cell run?"));
      }, TO_ANSWER);
      this._questions.set(id, { resolve, reject, timer });
      try {
        comm.send({ ...more, id, ask: what });
      } catch (why) {
        // the kernel has gone, or its connection has
        this._questions.delete(id);
        clearTimeout(timer);
        reject(why as Error);
      }
    });
  }

  private _open(): void {
    if (this._comm || this._disposed) {
      return;
    }
    try {
      const comm = withoutSubshell(this.kernel, () => this.kernel.createComm(TARGET));
      this._comm = comm;
      comm.onMsg = (message) => {
        if (comm === this._comm) {
          this._told(message);
        }
      };
      comm.onClose = () => {
        if (comm === this._comm) {
          this._lose();
        }
      };
      comm.open({ protocol: PROTOCOL });
    } catch {
      this._comm = null; // another connection of this page has the kernel's comms
    }
  }

  private _heard(_: Kernel.IKernelConnection, message: KernelMessage.IIOPubMessage): void {
    if (this._comm) {
      return;
    }
    const content = message.content as { transient?: { [key: string]: unknown } };
    const shows = message.header.msg_type === "display_data" || message.header.msg_type === "update_display_data";
    if (shows && content.transient?.ipytracer === PROTOCOL) {
      this._open();
    }
  }

  private _status(_: Kernel.IKernelConnection, status: Kernel.Status): void {
    if (status === "restarting" || status === "autorestarting" || status === "dead" || status === "terminating") {
      this._gone = true;
      this._lose();
      this._restarted = status !== "dead";
    } else if (status === "idle") {
      if (this._running) {
        this._running = null;
        this._changed.emit();
      }
      if (this._restarted) {
        this._restarted = false;
        void this.probe();
      }
    }
  }

  private _lose(): void {
    this._comm = null;
    this._hello = null;
    this._running = null;
    for (const question of this._questions.values()) {
      clearTimeout(question.timer);
      question.reject(new Error("the kernel has gone"));
    }
    this._questions.clear();
    this._changed.emit();
  }

  private _told(message: KernelMessage.ICommMsgMsg): void {
    try {
      this._take(bag(message.content.data));
    } catch (why) {
      console.debug("ipytracer: what a companion has sent is left out:", why);
    }
  }

  private _take(data: { [key: string]: unknown }): void {
    if ("hello" in data) {
      this._hello = hello(data.hello);
      this._gone = false;
      this._session = this._hello.session;
    } else if ("cell" in data) {
      this._running = null;
      this._add([run(data.cell, this._session)]);
    } else if ("cells" in data) {
      this._add(list(data.cells, MOST_RUNS).map((c) => run(c, this._session)));
      this._cut = this._cut || data.cut === true;
    } else if ("running" in data) {
      this._running = run(data.running, this._session);
    } else if ("answer" in data) {
      this._answered(integer(data.answer), data);
    }
    this._changed.emit();
  }

  private _answered(id: number, data: { [key: string]: unknown }): void {
    const question = this._questions.get(id);
    if (!question) {
      return;
    }
    this._questions.delete(id);
    clearTimeout(question.timer);
    try {
      if ("error" in data) {
        throw new Error(text(data.error));
      }
      question.resolve(data);
    } catch (why) {
      question.reject(why as Error);
    }
  }

  private _add(more: IRun[]): void {
    for (const one of more) {
      const known = this._runs.findIndex((r) => r.session === one.session && r.window === one.window);
      if (known >= 0) {
        this._runs[known] = one;
        continue;
      }
      let at = this._runs.length;
      while (at > 0 && this._runs[at - 1].session === one.session && this._runs[at - 1].window > one.window) {
        at--;
      }
      this._runs.splice(at, 0, one);
    }
    this._cut = this._cut || this._runs.length > MOST_RUNS;
    this._runs.splice(0, Math.max(0, this._runs.length - MOST_RUNS));
  }

  private _changed = new Signal<this, void>(this);
  private _comm: Kernel.IComm | null = null;
  private _hello: IHello | null = null;
  private _session = "";
  private _runs: IRun[] = [];
  private _running: IRun | null = null;
  private _cut = false;
  private _gone = false;
  private _probing = false;
  private _failed = 0;
  private _restarted = false;
  private _disposed = false;
  private _next = 1;
  private _questions = new Map<number, IQuestion>();
}

/**
 * Makes a comm without a subshell of its own. JupyterLab 4.4 starts one for each target, as a thread in the very
 * process that is measured.
 */
function withoutSubshell<T>(kernel: Kernel.IKernelConnection, make: () => T): T {
  const connection = kernel as unknown as { _commsOverSubshells?: string };
  if (connection._commsOverSubshells === undefined) {
    return make();
  }
  const before = connection._commsOverSubshells;
  connection._commsOverSubshells = "disabled";
  try {
    return make();
  } finally {
    connection._commsOverSubshells = before;
  }
}
