//go:build js

package main

import "syscall/js"

// main offers the browser one function: ipytracerMake(recording, name) makes a document of a recording, and returns an
// object with content, ending and note, or with error. It runs in a worker, which the page ends to free its memory.
func main() {
	js.Global().Set("ipytracerMake", js.FuncOf(func(_ js.Value, arguments []js.Value) any {
		data := make([]byte, arguments[0].Get("byteLength").Int())
		js.CopyBytesToGo(data, arguments[0])
		m, err := makeDocument(data, arguments[1].String())
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		content := js.Global().Get("Uint8Array").New(len(m.content))
		js.CopyBytesToJS(content, m.content)
		return map[string]any{"content": content, "ending": m.ending, "note": m.note}
	}))
	select {}
}
