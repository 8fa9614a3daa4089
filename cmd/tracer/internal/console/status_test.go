package console

import (
	"fmt"
	"testing"

	"ipytracer/internal/host/privileges"
)

// TestUnknownInvoker: an unknown user cannot trace.
func TestUnknownInvoker(t *testing.T) {
	nobody := privileges.InvokerError("PKEXEC_UID is not the number of a user")
	if status, message := Explain(fmt.Errorf("attach: %w", nobody)); status != CannotTrace ||
		message != "attach: "+nobody.Error() {
		t.Errorf("%d %q", status, message)
	}
}
