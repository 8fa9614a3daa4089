package tracer

// ForgetStacks makes a session that goes on for ever forget stacks and code: each stack is sent again when it is next
// met. It returns false where the session has only a few of them, unless now is true. Only the goroutine that calls
// [Session.Next] may call it.
func ForgetStacks(s *Session, now bool) (forgot bool, err error) {
	if !now && len(s.codes.all) < manyCodes && s.codes.stacks < manyStacks {
		return false, nil
	}
	if err := s.ledger.ForgetStacks(); err != nil {
		return false, err
	}
	s.codes.forget()
	return true, nil
}

// manyCodes and manyStacks are a quarter of what the tables of the kernel half hold.
const (
	manyCodes  = 1 << 14
	manyStacks = 1 << 15
)

// forget begins a generation of code. The one before it is kept: stacks that were sent before refer to it.
func (k *codes) forget() { *k = codes{report: k.report, before: k.all, full: k.full} }

// of returns a code object, nil where it is not known.
func (k *codes) of(number uint64) *code {
	if c := k.all[number]; c != nil {
		return c
	}
	return k.before[number]
}
