package main

import (
	"bytes"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"ipytracer/attribution"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/report/html"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/report"
)

// pages writes pages for the tests in a browser: the fixtures, a made-up notebook with a timeline, and a session in
// which every text tries to be more than text.
func pages(arguments []string) {
	folder := folderOf(arguments)
	for name, make := range reporttest.Reports {
		writePage(folder, name, make(), nil)
	}
	for name, cells := range map[string]int{"session": 60, "long": 500} { // a page reads the sources of "long" in parts
		tracker := attribution.New()
		attributiontest.Notebook(tracker.Add, cells, 4)
		writePage(folder, name, tracker.Stream(), nil)
	}
	report, audit := reporttest.WithLines(), reporttest.Audited()
	report.Advice = reporttest.Advised()
	writePage(folder, "lines", report, audit)
	report, audit = reporttest.WithLines(), reporttest.Audited()
	report.Advice = reporttest.Advised()
	reporttest.Poison(report)
	reporttest.Poison(audit)
	writePage(folder, "markup", report, audit)
}

// writePage writes the page of a session, the JSON of its report, audit and advice, and the sizes in these as text.
func writePage(folder, name string, session *model.Report, audit *model.Audit) {
	var page, figures, leaks, advised bytes.Buffer
	check(html.Write(&page, session, html.Options{Audit: audit}))
	check(report.JSON(&figures, session))
	put(folder, name+".html", page.Bytes())
	put(folder, name+".json", figures.Bytes())
	if session.Advice != nil {
		check(report.AdviceJSON(&advised, session.Advice))
		put(folder, name+".advice.json", advised.Bytes())
	}
	if audit != nil {
		check(report.AuditJSON(&leaks, audit))
		put(folder, name+".audit.json", leaks.Bytes())
	}
	texts, err := json.Marshal(sizes(slices.Concat(figures.Bytes(), leaks.Bytes(), advised.Bytes())))
	check(err)
	put(folder, name+".texts.json", texts)
}

// sizes returns, for each whole number in a text, the form in which a report shows it as a size. It leaves out numbers
// that JavaScript cannot represent.
func sizes(text []byte) map[string]string {
	const beyondDoubles = 1 << 53
	written := map[string]string{}
	isNoDigit := func(c rune) bool { return (c < '0' || c > '9') && c != '-' }
	for _, digits := range bytes.FieldsFunc(text, isNoDigit) {
		n, err := strconv.ParseInt(string(digits), 10, 64)
		if err == nil && n > -beyondDoubles && n < beyondDoubles {
			written[strconv.FormatInt(n, 10)] = words.Bytes(n)
		}
	}
	return written
}

// folderOf returns the only argument of a command that writes into a folder.
func folderOf(arguments []string) string {
	if len(arguments) != 1 {
		log.Fatal("usage: bench pages|exports DIR")
	}
	return arguments[0]
}

func put(folder, name string, data []byte) {
	check(os.WriteFile(filepath.Join(folder, name), data, 0o644))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
