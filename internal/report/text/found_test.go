package text

import (
	"testing"

	"ipytracer/model"
)

// TestWhoFound: the text about memory from a search stands in the place of its calls, and is no file of the user's.
func TestWhoFound(t *testing.T) {
	const found = "(found later: made between In[3] and In[7], while cpu.numpy was stepped down)"
	stack := []model.Frame{{Function: found}}
	if got := who(stack); got != found {
		t.Errorf("%q, want %q", got, found)
	}
	if _, users := model.Users(stack); users {
		t.Error("it is taken for the user's own code")
	}
}
