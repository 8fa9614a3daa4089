package reporttest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"ipytracer/model"
)

// Attempts are texts that try to act as more than text on a page. An attempt that succeeds sets window.pwned, or
// requests the address "pwned.invalid".
var Attempts = []string{
	`</script><script>window.pwned=1</script>`,
	`<img src=x onerror="window.pwned=1">`,
	`"><svg/onload=window.pwned=1>`,
	`javascript:window.pwned=1`,
	`<iframe srcdoc="<script>parent.pwned=1</script>">`,
	`<link rel=stylesheet href=//pwned.invalid/a.css><style>@import "//pwned.invalid/b.css";</style>`,
	`<img src=//pwned.invalid/c.png><base href=//pwned.invalid/>`,
	`<!--<script>window.pwned=1//`,
	`]]></style></title></textarea><script>window.pwned=1</script>`,
	"\u2028window.pwned=1\u2029\n//",
	`${window.pwned=1}{{constructor.constructor("window.pwned=1")()}}<%= window.pwned=1 %>`,
	`__proto__`, `constructor`, `toString`, `hasOwnProperty`,
	"\u202e\u2066gnp.exe\u2069\u200b\ufeff\U000e0041",
	"\x00\x1b]8;;javascript:window.pwned=1\x07link\x1b]8;;\x07",
	`\";window.pwned=1;//\u003cscript\u003ewindow.pwned=1\u003c/script\u003e`,
	`&lt;img src=x onerror=window.pwned=1&gt;`,
	`%3Cscript%3Ewindow.pwned=1%3C/script%3E`,
	"\xff\xfe<script>window.pwned=1</script>",
}

// Poison replaces every text of a report or an audit that a target, or the maker of a recording, can choose, by one
// attempt after another. Texts that distinguish windows and meters stay.
func Poison(document any) {
	count := 0
	poison(reflect.ValueOf(document), "", Attempts, &count)
}

// poison replaces the texts in a value by one of texts after another. name is the field that has the value, and count
// the number of texts that were replaced.
func poison(v reflect.Value, name string, texts []string, count *int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem(), name, texts, count)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				poison(v.Field(i), f.Name, texts, count)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i), name, texts, count)
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[json.Number]() {
			return
		}
		switch name {
		case "Schema", "Kind", "ID", "Meter", "Unit", "Started":
			return
		case "Source":
			v.SetString(v.String() + "\n" + fmt.Sprintf("# %d ", *count) + texts[*count%len(texts)])
		default:
			v.SetString(texts[*count%len(texts)])
		}
		*count++
	}
}

// WildTexts are names that formats could take for syntax of their own: separators, quotes, ends of lines and files,
// numbers, formulas, markup, formats of printing, invalid UTF-8, nothing, and a megabyte.
var WildTexts = []string{
	"a\nb;c|d\r\n99 1", `"quoted" 'single' \ \" \\" ,`, "\x00\x01\x1a\x04", "surrogate \xed\xb2\x80\xed\xa0\x80",
	"</script><script>window.pwned=1</script>", "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1",
	"%s%n%x{}{{0}}$HOME`id`$(id)", "../../../etc/passwd", "", " ", ";", "x 12345", "-- drop table slice; '",
	"[a](javascript:window.pwned=1) | b | `c` <details>", "{\"$schema\": [1, null", "NaN",
	"&amp;\u202e\ufeff\ufffd\U0010ffff", "file:///etc/passwd#:1", strings.Repeat("1 MB ;", 1<<18),
}

// Wild returns a session with all parts of the fixtures, in which every foreign text is one of [WildTexts].
func Wild() *model.Report {
	report := OnGPUs(WithLines())
	session := &report.Windows[0]
	for i := range session.Allocations { // OnGPUs has a block that is larger than the peak
		a := &session.Allocations[i]
		a.AtPeak = min(a.AtPeak, session.Meters[a.Meter].Peak)
	}
	count := 0
	poison(reflect.ValueOf(report), "", WildTexts, &count)
	hasLong := false
	for i := range report.Windows { // of the long sources the first stays
		window := &report.Windows[i]
		if len(window.Source) <= 1<<20 {
			continue
		}
		if hasLong {
			window.Source = "x = 1"
		}
		hasLong = true
	}
	return report
}
