package objects

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestBudgetOfTime: a walk ends when it has used its processor time. Time in which others have the processors counts
// only where a walk is held up.
func TestBudgetOfTime(t *testing.T) {
	defer OnThread()()
	const most = 20 * time.Millisecond
	spend := func(b *Budget) error {
		for range StepsToLook {
			b.Spent()
		}
		return b.Stopped
	}
	b := NewBudget(context.Background(), &Memory{}, Limits{Time: most})
	others := make(chan struct{})
	go func() {
		defer OnThread()()
		spendTime(2 * most)
		close(others)
	}()
	<-others
	if err := spend(&b); err != nil {
		t.Errorf("others had the processors: %v", err)
	}
	spendTime(most)
	if err := spend(&b); !errors.Is(err, errTime) {
		t.Errorf("the processor time is used up: %v", err)
	}
	held := NewBudget(context.Background(), &Memory{}, Limits{Time: most})
	if held.Deadline = time.Now(); !errors.Is(spend(&held), errTime) {
		t.Errorf("held up: %v", held.Stopped)
	}
}

// spendTime takes processor time on this thread.
func spendTime(most time.Duration) {
	for began := ProcessorTime(); ProcessorTime()-began < most; {
	}
}
