package export_test

import (
	"encoding/json"
	"strings"
	"testing"

	"ipytracer/internal/hostile"
	"ipytracer/internal/report/export"
	"ipytracer/internal/report/reporttest"
)

// partsOfNotebook are the places in a notebook where values can be of any form.
var partsOfNotebook = map[string][2]string{
	"cells":    {`{"nbformat":4,"cells":`, `}`},
	"members":  {`{"nbformat":4,"cells":[],"a":0,"metadata":`, `}`},
	"cell":     {`{"nbformat":4,"cells":[{"cell_type":"code","outputs":[],"metadata":{},"a":`, `}]}`},
	"metadata": {`{"nbformat":4,"cells":[{"cell_type":"code","source":"","outputs":[],"metadata":`, `}]}`},
	"outputs":  {`{"nbformat":4,"cells":[{"cell_type":"code","source":"","metadata":{},"outputs":`, `}]}`},
	"output": {`{"nbformat":4,"cells":[{"cell_type":"code","source":"","metadata":{},"outputs":[{"metadata":`,
		`}]}]}`},
	"source": {`{"nbformat":4,"cells":[{"cell_type":"code","metadata":{},"outputs":[],"source":`, `}]}`},
}

// TestHostileNotebooks reads notebooks of 512 KiB, writes figures into them and removes them.
func TestHostileNotebooks(t *testing.T) {
	r := reporttest.Rich()
	for where, part := range partsOfNotebook {
		for name, text := range hostile.JSON(512<<10, part[0], part[1]) {
			most := hostile.Run(t, where+" "+name, 24<<20, func(t *testing.T) {
				n, err := export.ParseNotebook([]byte(text))
				if err != nil {
					return
				}
				if bare, into := n.Remove().Text, n.Into(r, true).Text; !json.Valid(bare) || !json.Valid(into) {
					t.Error("it is no notebook any more")
				}
			})
			t.Logf("%s %s: %+v", where, name, most)
		}
	}
	cell := `{"cell_type":"code","source":"","metadata":{},"outputs":[]}`
	many := `{"nbformat":4,"cells":[` + strings.Repeat(cell+",", 1<<18) + cell + `]}`
	hostile.Run(t, "cells without end", 256<<20, func(t *testing.T) {
		if _, err := export.ParseNotebook([]byte(many)); err == nil || !strings.Contains(err.Error(), "parts") {
			t.Errorf("%v", err)
		}
	})
}
