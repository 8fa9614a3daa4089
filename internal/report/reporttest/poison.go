package reporttest

import (
	"encoding/json"
	"fmt"
	"reflect"
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

// Poison puts an attempt into every text of a report or an audit that a target, or the maker of a recording, can
// choose: another one each time. Texts that distinguish windows and meters stay.
func Poison(of any) {
	n := 0
	poison(reflect.ValueOf(of), "", Attempts, &n)
}

// poison goes through a value and puts one of the texts after another into it.
func poison(v reflect.Value, name string, texts []string, n *int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem(), name, texts, n)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				poison(v.Field(i), f.Name, texts, n)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i), name, texts, n)
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[json.Number]() {
			return
		}
		switch name {
		case "Schema", "Kind", "ID", "Meter", "Unit", "Started":
			return
		case "Source":
			v.SetString(v.String() + "\n" + fmt.Sprintf("# %d ", *n) + texts[*n%len(texts)])
		default:
			v.SetString(texts[*n%len(texts)])
		}
		*n++
	}
}
