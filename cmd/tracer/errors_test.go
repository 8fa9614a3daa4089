package main

import (
	"fmt"
	"testing"

	"ipytracer/cmd/tracer/internal/selftest"
	"ipytracer/internal/host/invoker"
)

// TestUnknownInvoker: an unknown user cannot trace.
func TestUnknownInvoker(t *testing.T) {
	nobody := invoker.Error("PKEXEC_UID is not the number of a user")
	if status, message := explain(fmt.Errorf("attach: %w", nobody)); status != statusCannotTrace ||
		message != "attach: "+nobody.Error() {
		t.Errorf("%d %q", status, message)
	}
}

// TestFailedSelftest: its message is the failure itself.
func TestFailedSelftest(t *testing.T) {
	err := fmt.Errorf("%w: a boundary is missing", selftest.ErrFailed)
	if status, message := explain(err); status != statusFailed || message != err.Error() {
		t.Errorf("%d %q", status, message)
	}
}
