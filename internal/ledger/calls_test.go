package ledger

import (
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"ipytracer/event"
)

// TestAccountIsSettled: a hit that takes the account below its floor calls another program, which pauses the group with
// the largest spending down, with a boundary. The hit's own program continues: its block is in the meter.
func TestAccountIsSettled(t *testing.T) {
	p := newBlocksProgram(t, 1, event.NumPy)
	if err := p.ledger.Accounts.SetBudget(0.03, time.Second); err != nil {
		t.Fatal(err)
	}
	price := Costs{Emulated: time.Microsecond, Stepped: time.Microsecond}
	if err := p.ledger.Accounts.SetPrice(GroupNumPy, price, 1); err != nil {
		t.Fatal(err)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	r, err := p.ledger.Accounts.root(0)
	if err != nil {
		t.Fatal(err)
	}
	r.ToppedUp, r.Halved = uint64(now.Nano()), uint64(now.Nano())
	// since the last look, an hour was spent on tensors
	r.Looked, r.Floor, r.Credit = int64(time.Hour), 0, -int64(2*time.Second)
	r.Spent[GroupTorchCPU] = uint64(time.Hour)
	if err := p.ledger.objects.Roots.Update(uint32(0), r, ebpf.UpdateExist); err != nil {
		t.Fatal(err)
	}
	is := p.run(1)
	if len(p.seen.boundaries) != 2 || p.seen.boundaries[0].Kind != event.MeterShed ||
		p.seen.boundaries[0].Value[event.NumPy] != 0 {
		t.Fatalf("boundaries %+v", p.seen.boundaries)
	}
	if got := int64(p.seen.boundaries[1].Value[event.NumPy]); got != is.live || is.live == 0 {
		t.Errorf("the meter says %d bytes, the program has %d", got, is.live)
	}
	r, err = p.ledger.Accounts.root(0)
	if err != nil || r.Down != 1<<GroupTorchCPU || r.Due != 0 || r.Floor >= r.Credit {
		t.Errorf("%+v, %v", r, err)
	}
}
