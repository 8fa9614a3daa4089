// Makes documents of recordings, with the compiled tracer. The page ends this worker when it opens other recordings.
"use strict";

importScripts("wasm_exec.js");

async function start() {
  const response = await fetch("tracer.wasm.gz");
  if (!response.ok) throw new Error("the program was not loaded: " + response.status);
  const unpacked = response.body.pipeThrough(new DecompressionStream("gzip"));
  const program = new Response(unpacked, { headers: { "Content-Type": "application/wasm" } });
  const go = new Go();
  const { instance } = await WebAssembly.instantiateStreaming(program, go.importObject);
  go.run(instance).catch((error) => postMessage({ error: String(error) }));
}

const started = start();
started.catch(() => {}); // the first request says so

onmessage = async (event) => {
  const { files, name } = event.data;
  try {
    await started;
    const all = files.map((one) => ({ name: one.name, content: new Uint8Array(one.content) }));
    postMessage({ name, ...ipytracerMake(all, name) });
  } catch (error) {
    postMessage({ name, error: String(error) });
  }
};
