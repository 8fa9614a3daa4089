package machine

import (
	"slices"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/code/isa"
)

// toyRoutine is a function with values that are followed.
func toyRoutine(t *testing.T, code ...[]byte) (r *Routine, calls []Call) {
	t.Helper()
	text, img := toyFunction(t, nil, code...)
	r, ok := (&Code{image: img, text: text}).Routine(place(0))
	if !ok {
		t.Fatal("a routine that is not understood")
	}
	return r, r.Calls()
}

func inRegister(r isa.Register) Place { return Place{Register: uint8(r.Number())} }

// TestToyValues: the arguments of a call, by their origin.
func TestToyValues(t *testing.T) {
	const variable = fakeBase + elftest.Text
	r, calls := toyRoutine(t,
		Push(R0), Move(R0, R1), // keeps the second argument
		Multiply(R5, R1),
		Compare(R2, 100), branch(4, isa.Above, 7),
		call(5), Nop(),
		LoadFrom(R1, place(7), variable), AddressOf(R2, place(8), variable+4), Constant(R4, 30),
		Push(R0), call(11), Pop(R0), Pop(R0), Ret())
	if len(calls) != 2 || calls[0].Target != fakeBase+publicAt || calls[0].Indirect || calls[0].Tail {
		t.Fatalf("calls: %+v", calls)
	}
	first, second := calls[0], calls[1]
	if v := r.Passed(first, 0); v == 0 || v != r.Product(r.Argument(0), r.Argument(1)) {
		t.Errorf("the first argument is %v and no product", v)
	}
	if v := r.Passed(first, 1); v != r.Argument(1) {
		t.Errorf("the second argument is %v", v)
	}
	if most, ok := r.AtMost(first, r.Argument(2)); !ok || most != 100 {
		t.Errorf("the third argument is at most %d, %v", most, ok)
	}
	if _, ok := r.AtMost(second, r.Argument(2)); ok {
		t.Error("a bound behind where ways meet")
	}
	if v := r.Passed(second, 0); v != 0 {
		t.Errorf("an argument that not all ways have: %v", v)
	}
	if at, ok := r.Loaded(r.Passed(second, 1)); !ok || at != variable {
		t.Errorf("loaded from %#x, %v", at, ok)
	}
	if at, ok := r.Address(r.Passed(second, 2)); !ok || at != variable+4 {
		t.Errorf("the address %#x, %v", at, ok)
	}
	if n, ok := r.Constant(r.Passed(second, 3)); !ok || n != 30 {
		t.Errorf("the constant %d, %v", n, ok)
	}
}

// TestToyPlaces: where values lie at calls and behind them.
func TestToyPlaces(t *testing.T) {
	r, calls := toyRoutine(t,
		Push(R0), Grow(2), Move(R0, R1), Store(SP, 1, R5),
		call(4), Clear(R1), Nop(), Grow(-2), Pop(R0), Ret())
	if len(calls) != 1 {
		t.Fatalf("calls: %+v", calls)
	}
	c := calls[0]
	site, p, ok := r.AtArgument(c, 0)
	if !ok || p != inRegister(R5) || site.Address != place(4) || site.Pushed != 24 {
		t.Errorf("the first argument is passed in %+v at %+v", p, site)
	}
	onStack := Place{OnStack: true, Above: 8}
	site, places, ok := r.Behind(c, r.Result(c), r.Argument(1), r.Argument(0))
	want := []Place{inRegister(R3), inRegister(R0), onStack}
	if !ok || site.Address != place(6) || !slices.Equal(places, want) {
		t.Errorf("behind the call: %+v at %+v, %v", places, site, ok)
	}
	site, places, ok = r.AtOnce(c, r.Result(c))
	if !ok || site.Address != place(5) || !slices.Equal(places, []Place{inRegister(R3)}) {
		t.Errorf("at once behind the call: %+v at %+v, %v", places, site, ok)
	}
	if _, _, ok = r.Behind(c, r.Argument(2)); ok {
		t.Error("a call preserved what it need not")
	}
	site, places, ok = r.First(r.Argument(0))
	if !ok || site.Address != place(0) || !slices.Equal(places, []Place{inRegister(R5)}) {
		t.Errorf("first of all: %+v at %+v, %v", places, site, ok)
	}
}

// TestToyWays: whether every way that counts passes a call, and calls through registers.
func TestToyWays(t *testing.T) {
	r, calls := toyRoutine(t, Compare(R2, 100), branch(1, isa.BelowOrEqual, 4), call(2), Nop(), Ret())
	if len(calls) != 1 || r.Passes(calls, nil) {
		t.Errorf("every way passes %+v", calls)
	}
	if !r.Passes(calls, Limits{r.Argument(2): 100}) || r.Passes(calls, Limits{r.Argument(2): 99}) {
		t.Error("ways on which an argument is at most a limit")
	}
	r, calls = toyRoutine(t, Load(R0, R5, 3), CallRegister(R0), JumpRegister(R2))
	if len(calls) != 2 || !calls[0].Indirect || calls[0].Slot != 24 || !calls[1].Tail || calls[1].Slot != -1 {
		t.Errorf("calls through registers: %+v", calls)
	}
	if v := r.Passed(calls[0], 0); v != r.Argument(0) {
		t.Errorf("the first argument is %v", v)
	}
}

// TestToyReferences: the references to a variable and to a function, and the arguments of calls.
func TestToyReferences(t *testing.T) {
	const pointer = fakeBase + elftest.Text
	text, img := toyFunction(t, nil,
		LoadFrom(R0, place(0), pointer), Move(R5, R0), call(2),
		AddressOf(R5, place(3), pointer), Constant(R1, 7), call(5), Move(R0, R1), Nop(),
		call(8), Clear(R3), Nop(), Ret())
	img.Symbols["variable"] = elftestSymbol(pointer)
	all := []uint64{place(2), place(5), place(8)}
	r := text.Refer("variable", "Py_Public")
	if got, ok := r.Calls("Py_Public"); !ok || !slices.Equal(got, all) || r.Callers("Py_Public") != len(all) {
		t.Errorf("calls: %#x", got)
	}
	if got := r.Passing([]string{"Py_Public"}); len(got) != 1 || got[place(2)] != "Py_Public" {
		t.Errorf("calls that pass the variable: %v", got)
	}
	if got, whole := r.CallsFrom(place(0), "Py_Public"); !whole || !slices.Equal(got, all) {
		t.Errorf("calls from the function: %#x, whole %v", got, whole)
	}
	if first, second, ok := text.Passed(place(5)); !ok || first != pointer || second != 7 {
		t.Errorf("passed are %#x and %d, %v", first, second, ok)
	}
	if s := text.BehindCall("x", place(5)); s.Address != place(7) || !s.Emulated {
		t.Errorf("behind the second call: %+v", s)
	}
	if s := text.BehindCall("x", place(8)); s.Present() {
		t.Errorf("behind the last call, where the result is gone: %+v", s)
	}
}

func elftestSymbol(at uint64) elffile.Symbol { return elffile.Symbol{Value: at, Size: 8} }
