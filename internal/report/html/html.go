// Package html makes one page of a session, a file that needs nothing else. It has figures, sources and stacks as a
// block of JSON, and the program that draws them (page/). The choice of figures and their number belong here; computing
// figures and opening files do not.
package html

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"

	"ipytracer/model"
)

// The program and the style sheet of the page, as `make page` builds them from page/src.
var (
	//go:embed page/dist/page.js
	program []byte
	//go:embed page/dist/page.css
	looks []byte
)

// Write writes the page of a report. The page loads nothing and runs only its own program, and no text of the target
// becomes markup: a policy in the page makes the browser refuse anything else. It fails with w's error only.
func Write(w io.Writer, r *model.Report, o Options) error {
	data, err := Data(r, o)
	if err != nil {
		return err
	}
	return Assemble(w, data, o)
}

// Assemble writes the page for a block from [Data]. It fails with w's error only.
func Assemble(w io.Writer, data []byte, o Options) error {
	// The parts are written one after another. There is no template with places to fill, so a text of the target cannot
	// stand for such a place.
	for _, part := range [][]byte{
		[]byte(head(o)), looks, []byte(middle), data, []byte("</script>\n<script>"), program, []byte(tail),
	} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// Data returns the block of JSON in a page: an object without markup, whatever the target's texts are.
func Data(r *model.Report, o Options) ([]byte, error) {
	p, err := newPage(r, o)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(true) // < > & and the line separators of JavaScript are \u escapes
	if err := encoder.Encode(p); err != nil {
		return nil, fmt.Errorf("encode the page: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Policy returns the content policy of a page: it may run the program and the style sheet with these hashes, nothing
// else, and no text may become markup.
func Policy(o Options) string {
	connect := ""
	if o.Version > 0 {
		connect = " connect-src 'self';"
	}
	return "default-src 'none';" + connect + " script-src " + source(program) + "; style-src " + source(looks) +
		"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

// source returns the hash of a program or a style sheet, as the policy names it.
func source(content []byte) string {
	sum := sha256.Sum256(content)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// head returns the beginning of a page, up to its style sheet.
func head(o Options) string {
	return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="` + Policy(o) + `">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>ipytracer</title>
<style>`
}

const (
	middle = `</style>
</head>
<body>
<noscript>This page draws itself with a program that it contains, and scripts are off here. ` +
		`<code>tracer report FILE</code> prints the same figures as text.</noscript>
<main id="page"></main>
<script type="application/json" id="data">`
	tail = `</script>
</body>
</html>
`
)
