// Opens recordings that are chosen or dropped: a worker reads them, and a frame without rights shows what is made of
// them.
"use strict";

const largest = 2 ** 30; // bytes of recordings; the program has 4 GiB at most

const element = (id) => document.getElementById(id);
const say = (text) => {
  element("state").textContent = text;
};

let worker, isNew; // isNew: it has read nothing
let opened = null; // { files, title, stem }
let shown = null; // the address of the page in the frame
const groups = [...element("form").children]; // of documents, by how many recordings they are made of

// Starts a worker: it loads the program while the user looks for a file.
function hire() {
  const own = (worker = new Worker("worker.js"));
  isNew = true;
  own.onmessage = (event) => {
    if (own === worker) take(event.data);
  };
  own.onerror = (event) => {
    if (own !== worker) return;
    say("It could not be opened: " + (event.message || "out of memory"));
    waits(false);
  };
}

// Ends what was opened before, so that its memory is free.
function close() {
  if (!isNew) {
    worker.terminate();
    hire();
  }
  if (shown) URL.revokeObjectURL(shown);
  opened = shown = null;
  element("frame").removeAttribute("src");
  delete document.body.dataset.opened;
  element("report").hidden = element("more").hidden = true;
}

const stem = (file) => file.name.replace(/\.arrows$/, "");

async function open(chosen) {
  close();
  const title = chosen.map((file) => file.name).join(" → ");
  if (chosen.length > 2) {
    say("A page opens one recording, or two to compare them.");
    return;
  }
  if (chosen.reduce((sum, file) => sum + file.size, 0) > largest) {
    say(title + " is too large for a browser: tracer report opens it.");
    return;
  }
  say("Reading " + title + " …");
  const own = (opened = { files: [], title, stem: chosen.map(stem).join("-") });
  try {
    for (const file of chosen) own.files.push({ name: file.name, content: await file.arrayBuffer() });
  } catch (error) {
    if (own === opened) say(title + " cannot be read: " + error);
    return;
  }
  if (own !== opened) return; // another was opened meanwhile
  isNew = false;
  element("form").replaceChildren(...groups.filter((group) => group.dataset.inputs === String(chosen.length)));
  element("swap").hidden = chosen.length < 2;
  element("form").value = chosen.length < 2 ? "html" : "diff-html";
  ask(element("form").value, false);
}

let saving = false;

// The buttons stay enabled, so that they keep the focus; one that is pressed meanwhile does nothing.
const waits = (does) => element("save").setAttribute("aria-disabled", String(does));
const isWaiting = () => element("save").getAttribute("aria-disabled") === "true";

function ask(name, toSave) {
  saving = toSave;
  waits(true);
  worker.postMessage({ files: opened.files, name });
}

function take(made) {
  waits(false);
  if (made.error) {
    say("It could not be opened: " + made.error);
    return;
  }
  say(opened.title + (made.note ? ": " + made.note : ""));
  const type = made.ending.endsWith(".html") ? "text/html" : "application/octet-stream";
  const address = URL.createObjectURL(new Blob([made.content], { type }));
  if (saving) {
    const link = document.createElement("a");
    link.href = address;
    link.download = opened.stem + made.ending;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    return;
  }
  shown = address;
  element("report").hidden = element("more").hidden = false;
  element("frame").src = address;
  document.body.dataset.opened = "1";
}

hire();
const openAll = (files) => {
  if (files.length) open([...files]);
};
element("file").addEventListener("change", (event) => openAll(event.target.files));
element("save").addEventListener("click", () => {
  if (!isWaiting()) ask(element("form").value, true);
});
element("swap").addEventListener("click", () => {
  if (isWaiting()) return;
  opened.files.reverse();
  open(opened.files.map((one) => new File([one.content], one.name)));
});
for (const kind of ["dragenter", "dragover"]) {
  addEventListener(kind, (event) => {
    event.preventDefault();
    document.body.classList.add("over");
  });
}
addEventListener("dragleave", () => document.body.classList.remove("over"));
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  openAll(event.dataTransfer.files);
});
