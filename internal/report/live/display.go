package live

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/tty"

	"ipytracer/model"
)

// Display shows a session on a terminal until [Display.Close]. No caller waits for the terminal.
type Display struct {
	screen  tcell.Screen
	hurry   func() // bounds all further waits for the terminal
	act     func(Action)
	styles  [len(colored)]tcell.Style
	glances chan *model.Glance // at most one: the latest figures that are not shown yet
	notices chan string        // at most one: the latest notice
	stop    chan struct{}
	done    chan struct{}
	once    sync.Once
}

// DisplayOptions say what a display shows at first, and what keys do.
type DisplayOptions struct {
	State   State // the first state on the screen
	NoColor bool
	// Act is called with the actions that keys ask for, and once with [Quit] when the terminal is lost. The calls
	// are on a goroutine of the display.
	Act func(Action)
}

// environment are variables that would change the library's behaviour.
var environment = []string{"TCELL_ALTSCREEN", "TCELL_ESCDELAY", "TCELL_KEYBOARD_PROTOCOL", "TCELL_NEGOTIATE",
	"TCELL_MOUSE", "TCELL_TRUECOLOR", "LINES", "COLUMNS"}

// Show starts a display. The terminal belongs to the display until [Display.Close].
func Show(t tty.Tty, o DisplayOptions) (*Display, error) {
	for _, name := range environment {
		os.Unsetenv(name)
	}
	locale := "C.UTF-8" // with other names of locales the library may use ASCII only
	if o.State.ASCII {
		locale = "C"
	}
	os.Setenv("LC_ALL", locale)
	// The library must send the terminal no queries: an answer can come so late that a shell reads it.
	options := []tcell.TerminfoScreenOption{
		tcell.OptNegotiation(false), tcell.OptKeyboardProtocol(tcell.LegacyKeyboard), tcell.OptSanitizeContent(true),
	}
	if o.NoColor {
		options = append(options, tcell.OptColors(0))
	}
	screen, err := tcell.NewTerminfoScreenFromTty(t, options...)
	if err == nil {
		err = screen.Init()
	}
	if err != nil {
		return nil, fmt.Errorf("show the screen: %w", err)
	}
	screen.HideCursor()
	d := &Display{
		screen: screen, hurry: func() { _ = t.Drain() }, act: o.Act, glances: make(chan *model.Glance, 1),
		notices: make(chan string, 1),
		stop:    make(chan struct{}), done: make(chan struct{}),
	}
	d.styles = colored
	if screen.Colors() == 0 { // else the library shows colours in reverse, and the bars with them
		for _, s := range []Style{Good, Warn, Bad} {
			d.styles[s] = tcell.StyleDefault.Bold(true)
		}
	}
	go d.run(o.State)
	return d, nil
}

// Update shows newer figures. It does not wait.
func (d *Display) Update(g *model.Glance) { latest(d.glances, g) }

// Notice shows a sentence at the bottom until the next key. It does not wait.
func (d *Display) Notice(text string) { latest(d.notices, text) }

// latest replaces the value that waits in a channel by a newer one. Only one goroutine at a time may call it.
func latest[T any](to chan T, v T) {
	for {
		select {
		case to <- v:
			return
		default:
		}
		select {
		case <-to:
		default:
		}
	}
}

// closing is how long a terminal that is stuck may delay the program's end.
const closing = 2 * time.Second

// Close restores the terminal. It may be called more than once, on any goroutine but the display's.
func (d *Display) Close() {
	d.once.Do(func() { close(d.stop) })
	select {
	case <-d.done:
	case <-time.After(closing):
	}
}

// run is the display's goroutine. Only this goroutine draws.
func (d *Display) run(state State) {
	defer close(d.done)
	var shown, newest *model.Glance
	d.draw(shown, &state)
	for {
		select {
		case <-d.stop:
			d.finish()
			return
		case newest = <-d.glances:
		case state.Notice = <-d.notices:
		case e, ok := <-d.screen.EventQ():
			action, lost := d.take(e, &state, shown)
			if lost || !ok {
				action = Quit
			}
			if action == Quit {
				d.finish()
				d.act(action)
				<-d.stop
				return
			}
			if action != Nothing {
				d.act(action)
			}
		}
		if !state.Frozen {
			state.Seen(shown, newest)
			shown = newest
		}
		d.draw(shown, &state)
	}
}

// finish restores the terminal. It does not wait for a terminal that takes no output.
func (d *Display) finish() {
	d.hurry()
	d.screen.Fini()
}

// take handles an event. lost reports that the terminal is gone.
func (d *Display) take(e tcell.Event, state *State, shown *model.Glance) (action Action, lost bool) {
	switch e := e.(type) {
	case *tcell.EventError:
		return Nothing, true
	case *tcell.EventKey:
		if name := keyOf(e); name != "" {
			return state.Press(name, shown), false
		}
	}
	return Nothing, false
}

var keyNames = map[tcell.Key]string{
	tcell.KeyUp: "up", tcell.KeyDown: "down", tcell.KeyLeft: "left", tcell.KeyRight: "right", tcell.KeyPgUp: "pgup",
	tcell.KeyPgDn: "pgdn",
	tcell.KeyHome: "home", tcell.KeyTab: "tab", tcell.KeyEsc: "esc", tcell.KeyCtrlC: "ctrl+c", tcell.KeyCtrlZ: "ctrl+z",
}

// keyOf returns the name of a key for [State.Press]; "" for other keys.
func keyOf(e *tcell.EventKey) string {
	if name, ok := keyNames[e.Key()]; ok {
		return name
	}
	if e.Key() != tcell.KeyRune {
		return ""
	}
	if e.Modifiers()&tcell.ModCtrl != 0 {
		return "ctrl+" + strings.ToLower(e.Str())
	}
	return e.Str()
}

// colored are the styles of a terminal with colours.
var colored = [...]tcell.Style{
	Plain: tcell.StyleDefault, Bold: tcell.StyleDefault.Bold(true), Dim: tcell.StyleDefault.Dim(true),
	Good:    tcell.StyleDefault.Foreground(tcell.PaletteColor(2)),
	Warn:    tcell.StyleDefault.Foreground(tcell.PaletteColor(3)),
	Bad:     tcell.StyleDefault.Foreground(tcell.PaletteColor(1)).Bold(true),
	Reverse: tcell.StyleDefault.Reverse(true),
}

// draw draws the figures in a state.
func (d *Display) draw(g *model.Glance, state *State) {
	width, height := d.screen.Size()
	d.screen.Clear()
	for y, row := range Screen(g, state, width, height) {
		x := 0
		for _, span := range row {
			x = d.put(x, y, width, span)
		}
	}
	d.screen.Show()
}

// put writes a span, and returns the column behind it.
func (d *Display) put(x, y, width int, span Span) int {
	text := span.Text
	for text != "" && x < width {
		rest, cells := d.screen.Put(x, y, text, d.styles[span.Style])
		if rest == text {
			break
		}
		text, x = rest, x+cells
	}
	return x
}
