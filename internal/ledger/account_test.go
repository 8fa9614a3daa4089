package ledger

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"
)

// model is an account as bpf/budget.h describes it, in Go.
type model struct {
	prices                prices
	credit, floor, looked int64
	toppedUp, halved      uint64
	down                  [GroupCount]bool
	spent, late           [GroupCount]uint64
}

func newModel(r *kernelRoot, p prices) *model {
	m := &model{prices: p, credit: int64(p.full), toppedUp: r.ToppedUp, halved: r.ToppedUp}
	m.look()
	return m
}

// level returns the credit below which the nth class of groups is paused.
func (m *model) level(class int) int64 {
	return int64(m.prices.full/8) * []int64{8, 6, 4, 2, 0, -2, -4}[class]
}

func (m *model) look() {
	m.looked, m.floor = m.credit, m.credit-int64(m.prices.full/16)
}

func (m *model) pay(g Group, price, now uint64) (stepped Group) {
	m.spent[g] += price
	m.credit -= int64(price)
	if m.credit >= m.floor || m.down[g] {
		return Group(kernelGroupGROUPS)
	}
	gain, spent := int64(0), m.looked-m.credit
	if now > m.toppedUp {
		gain = m.prices.gain(now - m.toppedUp)
	}
	m.credit = min(max(m.credit, -int64(m.prices.full))+gain, int64(m.prices.full))
	m.toppedUp = now
	defer m.look()
	return m.step(now, spent > gain)
}

func (m *model) step(now uint64, falls bool) Group {
	classes := 0
	for class := 1; class <= 6 && falls && m.credit < m.level(class); class++ {
		classes++
	}
	seconds := (now - m.halved) / 1e9
	if seconds > 0 {
		m.halved = now
	}
	total, highest := uint64(0), uint64(0)
	for g := range m.spent {
		m.late[g] = m.late[g]>>seconds + m.spent[g]
		m.spent[g] = 0
		total += m.late[g]
		highest = max(highest, m.late[g])
	}
	best, most := Group(kernelGroupGROUPS), uint64(0)
	for class := 1; class <= classes && best >= GroupCount; class++ {
		least := total / 16
		if class > 3 {
			least = highest / 4
		}
		if class == 6 {
			least = max(least, m.prices.full/4)
		}
		for g := range Group(GroupCount) {
			part, ok := g.Level()
			if ok && int64(part*8)*int64(m.prices.full/8) == m.level(class) && !m.down[g] && m.late[g] > most &&
				m.late[g] >= least {
				best, most = g, m.late[g]
			}
		}
	}
	if best < GroupCount {
		m.down[best] = true
	}
	return best
}

// TestAccountFollowsItsModel: on random hits, the kernel's arithmetic equals that of the model: storms, pauses, many
// groups at once.
func TestAccountFollowsItsModel(t *testing.T) {
	l := load(t, Options{})
	for seed := range uint64(MaxRoots - 1) {
		r := rand.New(rand.NewPCG(seed, 11))
		share := []float64{0.001, 0.01, 0.03, 0.3, 1}[seed%5]
		if err := l.Accounts.SetBudget(share, time.Duration(share*float64(16*time.Second))); err != nil {
			t.Fatal(err)
		}
		root := uint32(seed + 1)
		if _, err := l.Processes.AttachProcess(root, sleeper(t), 0); err != nil {
			t.Fatal(err)
		}
		before, err := l.Accounts.root(root)
		if err != nil {
			t.Fatal(err)
		}
		m := newModel(&before, l.Accounts.prices)
		now, loud := before.ToppedUp, Group(r.IntN(GroupCount))
		for i := range 3000 {
			now += uint64(r.IntN(20_000))
			if r.IntN(200) == 0 {
				now += uint64(r.IntN(3_000_000_000))
			}
			if i%500 == 0 {
				loud = Group(r.IntN(GroupCount))
			}
			g, price := loud, uint64(500+r.IntN(10_000))
			if r.IntN(4) == 0 {
				g = Group(r.IntN(GroupCount))
			}
			price = price * uint64(share*1e6) / 30_000 // storms of every share
			want := m.pay(g, price, now)
			if got := try(t, l, root, g, price, now); got != want {
				t.Fatalf("seed %d, hit %d: group %v was stepped down, want %v", seed, i, got, want)
			}
		}
		after, err := l.Accounts.root(root)
		if err != nil {
			t.Fatal(err)
		}
		if after.Credit != m.credit || after.Floor != m.floor {
			t.Errorf("seed %d: credit %d, floor %d, want %d and %d", seed, after.Credit, after.Floor, m.credit, m.floor)
		}
		for g := range m.spent {
			if down := after.Down>>g&1 == 1; down != m.down[g] || after.Spent[g] != m.spent[g] ||
				after.Late[g] != m.late[g] {
				t.Errorf("seed %d, %v: down %v, spent %d, %d, want %v and %d, %d", seed, Group(g), down, after.Spent[g],
					after.Late[g], m.down[g], m.spent[g], m.late[g])
			}
		}
	}
}

func try(t *testing.T, l *Ledger, root uint32, g Group, price, now uint64) Group {
	t.Helper()
	trial := kernelTrial{Now: now, Price: price, Root: root, Group: uint32(g)}
	if code, err := l.objects.TryAccount.Run(&ebpf.RunOptions{Context: &trial, ContextOut: &trial}); err != nil ||
		code != 0 {
		t.Fatal(code, err)
	}
	return Group(trial.Stepped)
}

// TestAccountStepsInOrder: in a storm of all events native frames are paused first, then lines, small blocks,
// meters, cells, and PyTorch's totals last, each only once its level of credit is reached.
func TestAccountStepsInOrder(t *testing.T) {
	l := load(t, Options{})
	if err := l.Accounts.SetBudget(0.03, 500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Processes.AttachProcess(0, sleeper(t), 0); err != nil {
		t.Fatal(err)
	}
	r, err := l.Accounts.root(0)
	if err != nil {
		t.Fatal(err)
	}
	var order []Group
	var at []int64
	now := r.ToppedUp
	for spent := int64(0); spent < 2_500_000_000; { // a storm of all events, in which the probes take all of the time
		for _, g := range []Group{GroupNumPy, GroupFrames, GroupSmallStacks, GroupNative, GroupSmall, GroupStatement,
			GroupResult, GroupTorch} {
			spent, now = spent+2000, now+2000
			if stepped := try(t, l, 0, g, 2000, now); stepped < GroupCount {
				order, at = append(order, stepped), append(at, spent)
			}
		}
	}
	class := -1.
	for i, g := range order {
		level, _ := g.Level()
		if i > 0 && level > class {
			t.Errorf("%v was stepped down after %v", g, order[i-1])
		}
		class = level
		// The credit is the account's balance plus the accrued part, minus the spent one.
		credit := 500e6 + 0.03*float64(at[i]) - float64(at[i])
		if credit > level*500e6 {
			t.Errorf("%v was stepped down with a credit of %.0f ms", g, credit/1e6)
		}
	}
	if len(order) != 8 || order[7] != GroupTorch {
		t.Errorf("stepped down: %v", order[:min(len(order), 20)])
	}
}

// spendBeside makes one group spend its price at one interval, and another group its own price at another, for a time.
// It returns the groups that were paused.
func spendBeside(t *testing.T, l *Ledger, root uint32, now *uint64, loud, quiet Group, price, quietPrice uint64,
	long time.Duration) (stepped []Group) {
	t.Helper()
	const every = 10_000_000
	for end := *now + uint64(long); *now < end; *now += every {
		for _, g := range []Group{try(t, l, root, loud, price, *now), try(t, l, root, quiet, quietPrice, *now)} {
			if g < GroupCount {
				stepped = append(stepped, g)
			}
		}
	}
	return stepped
}

// TestAccountIsFair: the group that causes the storm is paused, and no other figure with it: not in the storm,
// not while its probes still cost something afterwards, and not when the account recovers.
func TestAccountIsFair(t *testing.T) {
	l := load(t, Options{})
	if err := l.Accounts.SetBudget(0.03, 500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	root := uint32(0)
	for _, loud := range []Group{GroupStatement, GroupNumPy, GroupTorchCPU} {
		for _, quiet := range []Group{GroupTorch, GroupNumPy, GroupStatement} {
			if quiet == loud {
				continue
			}
			root++
			if _, err := l.Processes.AttachProcess(root, sleeper(t), 0); err != nil {
				t.Fatal(err)
			}
			r, err := l.Accounts.root(root)
			if err != nil {
				t.Fatal(err)
			}
			// 60 % of the time for 5 s; the quiet group takes 2 %. Then the quiet group goes on alone.
			now := r.ToppedUp
			stepped := spendBeside(t, l, root, &now, loud, quiet, 6_000_000, 200_000, 5*time.Second)
			after := spendBeside(t, l, root, &now, quiet, quiet, 200_000, 0, 20*time.Second)
			if !slices.Equal(stepped, []Group{loud}) || len(after) > 0 {
				t.Errorf("a storm of %v, beside it %v: stepped down %v, later %v", loud, quiet, stepped, after)
			}
			if quiet == GroupTorch { // it allocates very many tensors, and the account falls far below zero
				if stepped := spendBeside(t, l, root, &now, quiet, quiet, 900_000, 0,
					500*time.Millisecond); len(stepped) > 0 {
					t.Errorf("45 ms of %v after a storm of %v: stepped down %v", quiet, loud, stepped)
				}
				continue
			}
			// Debts beyond a full account were forgiven, and 1 % of 20 s has accrued.
			if r, err = l.Accounts.root(root); err != nil || r.Credit < -330_000_000 || r.Credit > -270_000_000 {
				t.Errorf("%+v, %v", r, err)
			}
		}
	}
}

// TestPutBack: a group that is put back counts again from the boundary at which that happened.
func TestPutBack(t *testing.T) {
	l := load(t, Options{})
	if err := l.Accounts.SetBudget(0.03, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	pid := sleeper(t)
	if _, err := l.Processes.AttachProcess(0, pid, 0); err != nil {
		t.Fatal(err)
	}
	r, _ := l.Accounts.root(0)
	if g := try(t, l, 0, GroupNumPy, 1_500_000, r.ToppedUp); g != GroupNumPy {
		t.Fatalf("stepped down: %v", g)
	}
	if a, err := l.Accounts.Account(0); err != nil || a.Full != time.Millisecond || a.Credit > 0 {
		t.Errorf("account %+v, %v", a, err)
	}
	if err := l.Accounts.Back(GroupNumPy, pid); err != nil {
		t.Fatal(err)
	}
	if r, _ = l.Accounts.root(0); r.Down != 0 || r.Epoch[GroupNumPy] != 1 || r.Floor >= r.Credit {
		t.Errorf("root %+v", r)
	}
	var c collected
	poll(t, l, &c)
	consecutive(t, c.boundaries, 2)
}
