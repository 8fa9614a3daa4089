// The extension, started anew in the fake host.

import { activate } from "../src/extension";
import { host } from "./host";

let subscriptions: { dispose(): unknown }[] = [];

/** Ends the extension that there was, and starts one with the settings as they are delivered. */
export function start(): void {
  subscriptions.forEach((one) => one.dispose());
  subscriptions = [];
  host.settings.clear();
  host.jupyter = null;
  host.editor = undefined;
  activate({ subscriptions } as unknown as Parameters<typeof activate>[0]);
}
