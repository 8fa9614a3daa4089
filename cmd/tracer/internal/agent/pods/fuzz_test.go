package pods

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"ipytracer/internal/hostile"
)

// mostOfList is the most that a list takes; 49 MiB were seen: the text of the largest pod, twice, and its maps.
const mostOfList = 64 << 20

// decodeList decodes a list as a source does, and returns the number of pods of this node.
func decodeList(t *testing.T, text []byte) (pods int) {
	in := &boundedReader{r: bytes.NewReader(text)}
	d := &listDecoder{Decoder: json.NewDecoder(in), in: in}
	_, _ = d.decode(func(w *wirePod) {
		p, ok := w.strip("here", &Wanted{Labels: []string{"a"}, Annotations: []string{"a"}})
		if !ok {
			return
		}
		pods++
		if len(p.containers) > maxContainers || len(p.Labels) > 1 || len(p.Annotations) > 1 ||
			!isName(p.Name, maxName) {
			t.Errorf("%+v", p)
		}
	})
	return pods
}

const (
	onePod = `{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"uid":"01234567-89ab-cdef-0123-456789abcdef",` +
		`"namespace":"hub","name":"jupyter-ada","labels":{"a":"b"}},"spec":{"nodeName":"here"},"status":`
	idOfContainer = "cri-o://"
)

func FuzzPods(f *testing.F) {
	f.Add([]byte(onePod + `{"containerStatuses":[{"name":"notebook","containerID":"` + idOfContainer +
		strings.Repeat("0f", 32) + `"}]}}]}`))
	for _, text := range hostile.JSON(1<<10, onePod, "}]}") {
		f.Add([]byte(text))
	}
	hostile.Fuzz(f, mostOfList, func(t *testing.T, text []byte) { decodeList(t, text) })
}

// TestHostileLists: pods that are as large as a pod may be, in each part that is decoded.
func TestHostileLists(t *testing.T) {
	for _, part := range []string{"", `{"containerStatuses":`} {
		end := strings.Repeat("}", strings.Count(part, "{"))
		for name, text := range hostile.JSON(maxObject-1024, onePod+part, end+"}]}") {
			hostile.Run(t, part+name, mostOfList, func(t *testing.T) { decodeList(t, []byte(text)) })
		}
	}
	before, after, _ := strings.Cut(onePod, `{"a":"b"}`)
	for name, text := range hostile.JSON(maxObject-1024, before, after+"{}}]}") {
		hostile.Run(t, "labels "+name, mostOfList, func(t *testing.T) { decodeList(t, []byte(text)) })
	}
	long := strings.Replace(onePod, "jupyter-ada", strings.Repeat("j", maxObject), 1)
	hostile.Run(t, "a name without end", mostOfList, func(t *testing.T) {
		if decodeList(t, []byte(long+"{}}]}")) != 0 {
			t.Error("it is a pod")
		}
	})
	if decodeList(t, []byte(onePod+"{}}]}")) != 1 {
		t.Error("the pod that the others are made of is none")
	}
}
