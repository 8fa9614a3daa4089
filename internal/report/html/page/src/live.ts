// Updates a session that may still run: asks the page's server (tracer view) for newer figures, and keeps the user's
// choices.
import { Page } from "./block";
import { Session } from "./data";
import { read, sources } from "./read";
import { get, set } from "./state";

const EVERY = 2000; // milliseconds

export function live(version: number, say: HTMLElement): void {
  let have = version,
    ended = false;
  const ask = async () => {
    try {
      const answer = await fetch(`data?have=${have}`, { cache: "no-store" });
      if (answer.status === 200) {
        const page = await read(await answer.text());
        have = page.version ?? have;
        renew(page);
      }
      ended = answer.status === 404;
    } catch {
      ended = true;
    }
    say.title = ended
      ? "the server has ended: the page stays as it is"
      : "the page follows the recording while it grows";
    say.dataset.live = ended ? "ended" : "following";
    if (!ended) setTimeout(ask, EVERY);
  };
  setTimeout(ask, EVERY);
}

/** Shows newer figures; the chosen cell stays chosen. */
function renew(page: Page): void {
  const { session: s, row, meter } = get(),
    now = new Session(page);
  const id = row < 0 ? 0 : s.id(row),
    name = s.page.meters[meter]?.id;
  const chosen = id > 0 ? now.row(id) : now.row(page.summit);
  set({
    session: now,
    row: chosen,
    meter: Math.max(
      0,
      page.meters.findIndex((m) => m.id === name),
    ),
  });
  sources(page);
}
