package deaths

import (
	"bytes"
	"encoding/json"
	"testing"

	"ipytracer/internal/hostile"
	"ipytracer/model"
)

func FuzzReport(f *testing.F) {
	whole, err := json.Marshal(&Report{Format: Format, Cause: "SIGKILL", Place: Machine,
		Ending: &model.Ending{Signal: "SIGKILL", Limit: &model.Limit{Kind: "cgroup"}}, Cell: &Window{Name: "In[1]"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	before := `{"format":"` + Format + `","cause":"SIGKILL","place":"machine","ending":`
	for _, size := range []int{1 << 10, maxReport} {
		for _, text := range hostile.JSON(size, before, "}") {
			f.Add([]byte(text))
		}
	}
	hostile.Fuzz(f, 8<<20, func(t *testing.T, text []byte) {
		r, err := readReport(bytes.NewReader(text))
		if err == nil && (r.Format != Format || r.Ending == nil || r.Says("the kernel") == "") {
			t.Errorf("%+v", r)
		}
	})
}
