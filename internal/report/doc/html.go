package doc

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"

	"ipytracer/internal/report/escape"
)

//go:embed page.css
var style string

//go:embed page.html
var layout string

// pages is the one template. Texts of a notebook are text in it, never markup: html/template escapes markup, and
// package escape invisible characters.
var pages = template.Must(template.New("page").Funcs(template.FuncMap{
	"safe": func(s string) string { return escape.But(s, "\n") },
}).Parse(layout))

// sheetData is the input of the template.
type sheetData struct {
	*page
	Style  template.CSS
	Policy string // the page may load nothing, run nothing, and has this one style
}

// HTML writes the blocks as a page without scripts. It fails with w's error only.
func (d *Document) HTML(w io.Writer) error {
	sum := sha256.Sum256([]byte(style))
	out := bufio.NewWriter(w)
	err := pages.Execute(out, sheetData{
		d.page(htmlItems), template.CSS(
			style), "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; form-action 'none'",
	})
	if err != nil {
		return err
	}
	return out.Flush()
}
