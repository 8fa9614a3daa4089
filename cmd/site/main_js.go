//go:build js

package main

import "syscall/js"

// main offers the browser one function: ipytracerMake(files, document) makes a document of one recording or of two, and
// returns an object with content, ending and note, or with error. Each file is an object with name and content. It runs
// in a worker, which the page ends to free its memory.
func main() {
	js.Global().Set("ipytracerMake", js.FuncOf(func(_ js.Value, arguments []js.Value) any {
		var files []file
		for i := range arguments[0].Length() {
			from := arguments[0].Index(i)
			f := file{from.Get("name").String(), make([]byte, from.Get("content").Get("byteLength").Int())}
			js.CopyBytesToGo(f.data, from.Get("content"))
			files = append(files, f)
		}
		m, err := makeDocument(files, arguments[1].String())
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		content := js.Global().Get("Uint8Array").New(len(m.content))
		js.CopyBytesToJS(content, m.content)
		return map[string]any{"content": content, "ending": m.ending, "note": m.note}
	}))
	select {}
}
