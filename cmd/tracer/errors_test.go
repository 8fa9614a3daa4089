package main

import (
	"fmt"
	"testing"

	"ipytracer/tracer/invoker"
)

// TestUnknownInvoker: nothing can be traced for somebody who is not known.
func TestUnknownInvoker(t *testing.T) {
	nobody := invoker.Error("PKEXEC_UID is not the number of a user")
	if status, message := explain(fmt.Errorf("attach: %w", nobody)); status != statusCannotTrace || message != "attach: "+nobody.Error() {
		t.Errorf("%d %q", status, message)
	}
}
