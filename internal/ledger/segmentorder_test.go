package ledger

import (
	"slices"
	"testing"

	"ipytracer/event"
)

// inOrder collects the delivered records, in order: numbers of boundaries, and negative numbers of readings.
type inOrder struct {
	collected
	numbers []int
}

func (c *inOrder) Boundary(b *event.Boundary, extra BoundaryExtra) {
	c.numbers = append(c.numbers, int(b.Number))
	c.collected.Boundary(b, extra)
}

func (c *inOrder) Reading(r *event.Reading) { c.numbers = append(c.numbers, -int(r.Number)) }

const recordReading = uint32(kernelBoundaryKindRECORD_READING)

// orderCase has three records, in the order in which their CPUs drew tickets, and the order of their delivery.
type orderCase struct {
	name     string
	segments [3]uint64
	roots    [3]uint32
	kinds    [3]uint32
	numbers  [3]uint64 // 0: its own
	written  []int     // at first; the others during a wait for them
	lost     int       // the place of a record that is never written, from 1
	atOnce   []int     // the records that the first Poll hands on
	want     []int
}

var orderCases = []orderCase{
	{
		name: "in turn", segments: [3]uint64{1, 2, 3},
		written: []int{0, 1, 2}, atOnce: []int{1, 2, 3}, want: []int{1, 2, 3},
	},
	{
		name: "the first is held up", segments: [3]uint64{3, 1, 2},
		written: []int{0, 1, 2}, atOnce: []int{2, 3, 1}, want: []int{2, 3, 1},
	},
	{
		name: "the others backwards", segments: [3]uint64{3, 2, 1},
		written: []int{0, 1, 2}, atOnce: []int{3, 2, 1}, want: []int{3, 2, 1},
	},
	{name: "before the others are through", segments: [3]uint64{3, 1, 2}, written: []int{0}, want: []int{2, 3, 1}},
	{
		name: "one is not through", segments: [3]uint64{3, 1, 2},
		written: []int{0, 1}, atOnce: []int{2}, want: []int{2, 3, 1},
	},
	{
		name: "one does not come", segments: [3]uint64{3, 1, 2},
		written: []int{0, 1}, lost: 3, atOnce: []int{2}, want: []int{2, 1},
	},
	{
		name: "a segment that nobody has", segments: [3]uint64{9, 1, 2},
		written: []int{0, 1, 2}, atOnce: []int{2, 3, 1}, want: []int{2, 3, 1},
	},
	{
		name: "other trees do not wait", segments: [3]uint64{2, 1, 1}, roots: [3]uint32{0, 1, 0},
		written: []int{0, 1}, atOnce: []int{2}, want: []int{2, 3, 1},
	},
	{
		name: "with its reading", segments: [3]uint64{2, 0, 1},
		kinds: [3]uint32{1: recordReading}, numbers: [3]uint64{1: 1},
		written: []int{0, 1}, want: []int{3, 1, -1},
	},
	{
		name: "another one's reading", segments: [3]uint64{2, 0, 1},
		kinds: [3]uint32{1: recordReading}, numbers: [3]uint64{1: 7},
		written: []int{0, 1}, atOnce: []int{-7}, want: []int{-7, 3, 1},
	},
}

// draw draws the records of the case.
func (c *orderCase) draw(t *testing.T, o *overtaking) {
	t.Helper()
	o.records, o.l.Stream.order, o.l.Stream.overtaken.meanwhile = [3]kernelBoundary{}, segmentOrder{}, nil
	o.draw(t)
	for i := range o.records {
		o.records[i].Segment, o.records[i].Root = c.segments[i], c.roots[i]
		if c.kinds[i] != 0 {
			o.records[i].Kind = c.kinds[i]
		}
		if c.numbers[i] != 0 {
			o.records[i].Number = c.numbers[i]
		}
	}
}

// TestSegmentOrder: three CPUs draw tickets one after another. Whichever CPU is held up before it cuts the tree,
// boundaries are handed on in the order of the cuts, and nothing waits for a record that does not come.
func TestSegmentOrder(t *testing.T) {
	o := overtakes(t)
	for _, c := range orderCases {
		t.Run(c.name, func(t *testing.T) {
			c.draw(t, o)
			for _, i := range c.written {
				o.write(t, i)
			}
			var got inOrder
			poll(t, o.l, &got)
			if !slices.Equal(got.numbers, c.atOnce) {
				t.Errorf("at once %d, want %d", got.numbers, c.atOnce)
			}
			o.l.Stream.overtaken.meanwhile = func() {
				for i := range o.records {
					if i != c.lost-1 {
						o.write(t, i)
					}
				}
			}
			if err := o.l.Stream.Drain(&got); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.numbers, c.want) {
				t.Errorf("%d, want %d", got.numbers, c.want)
			}
			if len(o.l.Stream.order.early) > 0 {
				t.Errorf("%d still wait", len(o.l.Stream.order.early))
			}
		})
	}
}
