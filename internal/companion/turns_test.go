package companion

import (
	"testing"

	"ipytracer/model"
)

// eager is a notebook that asks again as soon as it has an answer.
type eager struct {
	book
	again func()
}

func (e eager) Running(pid int) []model.Window { e.again(); return e.book.Running(pid) }

// TestAnswersWaitForTheirMarkers: a question that comes while others are answered waits for its own marker, before
// which its figures have not been taken in.
func TestAnswersWaitForTheirMarkers(t *testing.T) {
	ended := cell(1, 7)
	ended.Kind, ended.Name = "experiment", "fit"
	b := book{}
	var n *notebook
	h := New(Options{}, eager{b, func() { n.send(`{"id": 2, "ask": "experiment", "name": "fit"}`) }})
	n = connect(t, h, 7)
	n.packet()
	if a := n.ask(`{"id": 1, "ask": "running"}`); a.ID != 1 {
		t.Fatalf("the first answer: %+v", a)
	}
	b[1] = ended
	n.say()
	if a := n.packet(); a.ID != 2 || len(a.Windows) != 1 {
		t.Errorf("what was asked meanwhile: %+v", a)
	}
}
