package tracer

// ForgetStacks makes a session that goes on for ever forget stacks and code: each stack is sent again when it is next
// met. It returns false where the session has only a few of them, unless now is true. Only the goroutine that calls
// [Session.Next] may call it.
func ForgetStacks(s *Session, now bool) (forgot bool, err error) {
	if !now && s.code.Codes.AreFew() {
		return false, nil
	}
	if err := s.ledger.ForgetStacks(); err != nil {
		return false, err
	}
	s.code.Codes.Forget()
	return true, nil
}
