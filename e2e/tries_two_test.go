package e2e

import "testing"

// manyTries is the number of tries from which on some shells also count in the second tracer's page.
const manyTries = 200

// TestCountedTwoTries: two tracers are attached to the same shells, in any order with the cells that make these count
// themselves. One of them detaches, and the other one goes on. The figures of both are right, or not said to be exact.
func TestCountedTwoTries(t *testing.T) {
	c := newCrowd(t)
	var first, second verdict
	for try := 0; try < tries(); try += atOnce {
		c.begin(atOnce)
		a := c.attach()
		c.some(12)
		c.hurry()
		b := c.attach()
		c.some(12)
		if c.r.IntN(2) == 0 {
			first.add(c.end(a))
			c.goOn(b)
			second.add(c.end(b))
		} else {
			second.add(c.end(b))
			c.goOn(a)
			first.add(c.end(a))
		}
		c.areAlone()
	}
	t.Logf("%d tries; cells by the first tracers: %+v; by the second: %+v", tries(), first, second)
	if first.counted == 0 || first.exact == first.counted || tries() >= manyTries && second.counted == 0 {
		t.Errorf("not every way to count was tried: %+v, %+v", first, second)
	}
}

// some runs some cells, at least one.
func (c *crowd) some(most int) {
	c.t.Helper()
	for range 1 + c.r.IntN(most) {
		c.step()
	}
}

// goOn runs cells beside the tracer that is left, which may be stopped for a while.
func (c *crowd) goOn(tr *trace) {
	c.t.Helper()
	c.step() // the line to it begins here: what may come too late is asked for behind that
	if c.r.IntN(2) == 0 {
		c.stepWhileStopped(tr)
	}
	c.some(12)
}

// end ends a tracer, and judges its report.
func (c *crowd) end(tr *trace) verdict {
	c.t.Helper()
	r, _ := tr.stop()
	return c.judge(r)
}
