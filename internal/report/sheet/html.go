package sheet

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"

	"ipytracer/internal/report/escape"
)

//go:embed sheet.css
var style string

//go:embed sheet.html
var layout string

// pages is the one template. Texts of a notebook are text in it, never markup: html/template escapes markup, and
// package escape invisible characters.
var pages = template.Must(template.New("sheet").Funcs(template.FuncMap{
	"safe": func(s string) string { return escape.But(s, "\n") },
}).Parse(layout))

// sheetData is the input of the template.
type sheetData struct {
	*page
	Style  template.CSS
	Policy string // the page may load nothing, run nothing, and has this one style
}

func html(w io.Writer, p *page) error {
	sum := sha256.Sum256([]byte(style))
	out := bufio.NewWriter(w)
	err := pages.Execute(out, sheetData{
		p, template.CSS(style), "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; form-action 'none'",
	})
	if err != nil {
		return err
	}
	return out.Flush()
}
