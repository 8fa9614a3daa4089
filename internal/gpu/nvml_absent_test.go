//go:build !cgo

package gpu

import (
	"context"
	"errors"
	"testing"
)

func TestNotBuiltIn(t *testing.T) {
	_, err := Read(context.Background())
	var none *NoNVMLError
	if !errors.Is(err, ErrNoNVML) || !errors.As(err, &none) || none.Reason != NotBuiltIn {
		t.Errorf("%v", err)
	}
}
