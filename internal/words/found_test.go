package words

import "testing"

func TestFoundLater(t *testing.T) {
	for _, of := range []struct{ after, before, want string }{
		{"In[3]", "In[7]", "(found later: made between In[3] and In[7], while cpu.numpy was stepped down)"},
		{"In[3]", "In[3]", "(found later: made in In[3], while cpu.numpy was stepped down)"},
		{"", "In[7]", "(found later: made before the end of In[7], while cpu.numpy was stepped down)"},
		{"In[3]", "", "(found later: made after In[3], while cpu.numpy was stepped down)"},
		{"", "", "(found later: made while cpu.numpy was stepped down)"},
	} {
		if got := FoundLater("cpu.numpy", of.after, of.before); got != of.want {
			t.Errorf("%q and %q: %q, want %q", of.after, of.before, got, of.want)
		}
	}
}
