package users

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
)

// TestManyCellsAndDeathsStayWithinBounds: 100,000 cells and 10,000 deaths of 2,000 users stay within the bounds, and
// the user who came last has all of the own.
func TestManyCellsAndDeathsStayWithinBounds(t *testing.T) {
	s, long := newStage(t), strings.Repeat("/folder", 10_000)
	for i := range 100_000 {
		k := ofHub("jhub", fmt.Sprint("user-", i/50))
		k.Claimed.Notebook = long[i%7:]
		s.Cell(cell(k, i, int64(i)))
		if i%10 == 0 {
			s.Death(killed(k, s.at))
		}
		s.at = s.at.Add(time.Millisecond)
	}
	if n := len(s.people); n != maxPeople {
		t.Errorf("%d people", n)
	}
	for p, r := range s.people {
		if len(r.cells[0]) > defaultCells || cap(r.cells[0]) > 4*defaultCells || len(r.deaths) > maxDeaths ||
			len(r.cells[0][0].Notebook) > maxPath+3 || len(r.deaths[0].Notebook) > maxPath+3 {
			t.Fatalf("%v: %d cells, %d deaths", p, len(r.cells[0]), len(r.deaths))
		}
	}
	a := s.of(t, "user-1999")
	if len(a.Cells) != defaultCells || a.Cells[0].Need != 99_999 || len(a.Deaths) != maxDeaths {
		t.Errorf("%d cells, %d deaths", len(a.Cells), len(a.Deaths))
	}
	if a := s.of(t, "user-0"); len(a.Cells) != 0 {
		t.Errorf("forgotten: %d cells", len(a.Cells))
	}
}

// TestCellsStayForTheirTime: cells stay for keep at least and twice that at most, and the answer says since when;
// deaths stay for their own time.
func TestCellsStayForTheirTime(t *testing.T) {
	s := newStage(t)
	begin, ann := s.at, ofHub("jhub", "ann")
	s.Cell(cell(ann, 1, 9*gib))
	s.Death(killed(ann, s.at))
	for halfDays, want := range []struct {
		names string
		since int
	}{
		{"In[1]", 0}, {"In[1]", 0}, {"In[1] In[102]", 0}, {"In[1] In[103] In[102]", 0},
		{"In[103] In[104] In[102]", 24}, {"In[103] In[105] In[104] In[102]", 24}, {"In[106] In[105] In[104]", 48},
	} {
		s.at = begin.Add(time.Duration(halfDays) * 12 * time.Hour)
		if halfDays > 1 {
			s.Cell(cell(ann, 100+halfDays, map[bool]int64{true: gib, false: 3}[halfDays == 3]+int64(halfDays)))
		}
		a := s.of(t, "ann")
		if got := strings.Join(names(a), " "); got != want.names ||
			!a.Since.Equal(begin.Add(time.Duration(want.since)*time.Hour)) {
			t.Errorf("after %d h: %s since %v", 12*halfDays, got, a.Since)
		}
	}
	s.at = begin.Add(6 * 24 * time.Hour)
	if a := s.of(t, "ann"); len(a.Cells) != 0 || len(a.Deaths) != 1 || a.Since.Before(begin.Add(4*24*time.Hour)) {
		t.Errorf("after days: %+v", a)
	}
	s.at = begin.Add(8 * 24 * time.Hour)
	if a := s.of(t, "ann"); len(a.Deaths) != 0 {
		t.Errorf("an old death: %+v", a)
	}
	s.at = begin.Add(9*24*time.Hour + time.Minute)
	if s.of(t, "ann"); len(s.people) != 0 {
		t.Errorf("%d people", len(s.people))
	}
}

// blocked is a reader that takes nothing until it is let go.
type blocked struct {
	http.ResponseWriter
	begun, goOn chan struct{}
}

func (b *blocked) Write(p []byte) (int, error) {
	b.begun <- struct{}{}
	<-b.goOn
	return b.ResponseWriter.Write(p)
}

// TestSlowReaders: readers that take nothing keep no cell from being taken in, and nobody from an answer.
func TestSlowReaders(t *testing.T) {
	s := newStage(t)
	ann := ofHub("jhub", "ann")
	s.Cell(cell(ann, 1, gib))
	goOn, begun, done := make(chan struct{}), make(chan struct{}), make(chan int)
	for range 3 * maxAsks {
		go func() {
			r := httptest.NewRequest(http.MethodGet, Path+"?name=ann", nil)
			r.Header.Set("Authorization", "Bearer "+secret)
			w := httptest.NewRecorder()
			s.ServeHTTP(&blocked{w, begun, goOn}, r)
			done <- w.Code
		}()
		<-begun
	}
	s.Cell(cell(ann, 2, 2*gib))
	if a := s.of(t, "ann"); len(a.Cells) != 2 {
		t.Errorf("%+v", a)
	}
	close(goOn)
	for range 3 * maxAsks {
		if code := <-done; code != http.StatusOK {
			t.Error(code)
		}
	}
}

// TestMostAtATime: no more answers are made at a time than there is room for.
func TestMostAtATime(t *testing.T) {
	s := newStage(t)
	goOn, begun, done := make(chan struct{}), make(chan struct{}), make(chan int)
	s.options.Kernels = func(func(*telemetry.Kernel) bool) []Kernel {
		begun <- struct{}{}
		<-goOn
		return nil
	}
	ask := func() int {
		code, _ := s.asked(Path+"?name=ann", "Bearer "+secret)
		return code
	}
	for range maxAsks {
		go func() { done <- ask() }()
		<-begun
	}
	if code := ask(); code != http.StatusServiceUnavailable {
		t.Error(code)
	}
	close(goOn)
	for range maxAsks {
		if code := <-done; code != http.StatusOK {
			t.Error(code)
		}
	}
}

// TestLargestAnswer: the most kernels, cells and deaths with the longest names fit into an answer.
func TestLargestAnswer(t *testing.T) {
	s := newStage(t)
	s.options.Config.Cells = maxCells
	long := strings.Repeat(`"`, 1000)
	s.options.Kernels = func(func(*telemetry.Kernel) bool) (all []Kernel) {
		for range 64 {
			one := Kernel{Server: telemetry.Label(long), Notebook: long, Frontend: telemetry.Label(long),
				Python: telemetry.Label(long), Resident: 1 << 60, Highest: 1 << 60,
				Limit: &Limit{"RLIMIT_DATA", 1 << 60}}
			for n := range event.MaxDevices {
				one.GPUs = append(one.GPUs, GPU{int(n), 1 << 60})
			}
			all = append(all, one)
		}
		return all
	}
	k := ofHub("jhub", "ann")
	k.Claimed.Notebook = long
	for n := range 100 {
		s.Cell(cell(k, n, 1<<60))
		d := killed(k, s.at)
		d.Notebook = long
		s.Death(d)
	}
	if a := s.of(t, "ann"); len(a.Kernels) != 64 || len(a.Cells) != maxCells || len(a.Deaths) != maxDeaths {
		t.Errorf("%d kernels, %d cells, %d deaths", len(a.Kernels), len(a.Cells), len(a.Deaths))
	}
}

// TestMistakesInTheSectionOfHubs: mistakes are found.
func TestMistakesInTheSectionOfHubs(t *testing.T) {
	one := Hub{TokenFile: "/x"}
	good := Config{Hubs: []Hub{one}}
	if field, err := good.Check(); err != nil {
		t.Error(field, err)
	}
	for want, c := range map[string]Config{
		"hubs: must have":              {},
		"hubs: must have from 1 to 16": {Hubs: make([]Hub, 17)},
		"hubs: each hub needs a token": {Hubs: []Hub{{}}},
		"hubs: namespaces: \"[\"":      {Hubs: []Hub{{TokenFile: "/x", Namespaces: "["}}},
		"hubs: each of several":        {Hubs: []Hub{one, one}},
		"keep: 1s is not":              {Hubs: []Hub{one}, Keep: time.Second},
		"cells: 21 is not":             {Hubs: []Hub{one}, Cells: 21},
	} {
		field, err := c.Check()
		if err == nil || !strings.HasPrefix(field+": "+err.Error(), want) {
			t.Errorf("%s: %s, %v", want, field, err)
		}
	}
}
