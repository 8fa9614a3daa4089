package live

import (
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v3/vt"

	"ipytracer/model"
)

// patience is how long something may take that takes a moment on an idle machine.
const patience = time.Minute

// terminal is a made-up one that reports each write.
type terminal struct {
	vt.MockTerm
	written chan struct{}
}

func newTerminal() terminal {
	return terminal{vt.NewMockTerm(vt.MockOptSize{X: 80, Y: 24}), make(chan struct{}, 1)}
}

func (t terminal) Write(p []byte) (int, error) {
	n, err := t.MockTerm.Write(p)
	select {
	case t.written <- struct{}{}:
	default:
	}
	return n, err
}

func shown(term terminal) string {
	size, _ := term.WindowSize()
	var b strings.Builder
	for y := range size.Height {
		for x := range size.Width {
			if c := term.GetCell(vt.Coord{X: vt.Col(x), Y: vt.Row(y)}).C; c != "" {
				b.WriteString(c)
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func wants(t *testing.T, term terminal, what string) {
	t.Helper()
	for late := time.After(patience); !strings.Contains(shown(term), what); {
		select {
		case <-term.written:
		case <-late:
			t.Fatalf("%q is not shown:\n%s", what, shown(term))
		}
	}
}

func glance(command string) *model.Glance {
	return &model.Glance{Kernels: []model.Kernel{{PID: 42, Command: command, Meters: map[string]model.Figure{}}}}
}

// TestDisplayShowsTheNewestState shows the newest state, unless it is frozen; takes keys; and gives the terminal back.
func TestDisplayShowsTheNewestState(t *testing.T) {
	term := newTerminal()
	actions := make(chan Action, 16)
	d, err := Show(term, DisplayOptions{Act: func(a Action) { actions <- a }})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, term, "nothing has been seen yet")
	d.Update(glance("first"))
	wants(t, term, "first")
	term.SendRaw([]byte(" "))
	wants(t, term, "FROZEN")
	d.Update(glance("second"))
	d.Notice("something was said")
	wants(t, term, "something was said")
	if !strings.Contains(shown(term), "first") {
		t.Errorf("a frozen screen has changed:\n%s", shown(term))
	}
	term.SendRaw([]byte(" "))
	d.Update(glance("third \x1b[31m\u202e"))
	wants(t, term, `third \x1b[31m\u202e`)
	term.SetSize(vt.Coord{X: 60, Y: 12})
	wants(t, term, "process 42"[8:])
	term.SendRaw([]byte("0u"))
	for _, want := range []Action{Mark, FindVariables} {
		if got := <-actions; got != want {
			t.Errorf("action %v, want %v", got, want)
		}
	}
	term.SendRaw([]byte("q"))
	if got := <-actions; got != Quit {
		t.Errorf("action %v, want to quit", got)
	}
	d.Update(glance("after"))
	d.Close()
	d.Close()
}

// TestASCIIByTheLocale goes by the locale's name, as the C library does.
func TestASCIIByTheLocale(t *testing.T) {
	for _, c := range []struct {
		all, ctype, lang string
		ascii            bool
	}{
		{"", "", "", true}, {"", "", "C", true}, {"", "", "en_US.UTF-8", false}, {"", "", "de_DE.utf8@euro", false},
		{"C", "", "en_US.UTF-8", true},
		{"", "POSIX", "en_US.UTF-8", true}, {"", "", "de_DE.ISO-8859-1", true}, {"C.UTF-8", "", "", false},
	} {
		t.Setenv("LC_ALL", c.all)
		t.Setenv("LC_CTYPE", c.ctype)
		t.Setenv("LANG", c.lang)
		if got := ASCII(); got != c.ascii {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
