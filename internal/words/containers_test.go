package words

import (
	"testing"

	"ipytracer/model"
)

func TestContained(t *testing.T) {
	const gib = 1 << 30
	for want, c := range map[string]model.Container{
		"3.00 of 4.00 GiB (75 %)": {AtLeast: 3 * gib, Highest: 3 * gib, Exact: true, Limit: 4 * gib},
		"3.00 GiB":                {AtLeast: 3 * gib, Highest: 3 * gib, Exact: true},
		"at least 1.00 GiB and at most 3.00 of 4.00 GiB": {AtLeast: gib, Highest: 3 * gib, Limit: 4 * gib},
		"at least 1.00 GiB and at most 3.00 GiB":         {AtLeast: gib, Highest: 3 * gib},
		"at least 1.00 of 4.00 GiB":                      {AtLeast: gib, Limit: 4 * gib},
		"at least 1.00 GiB":                              {AtLeast: gib},
	} {
		if got := Contained(&c); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}

func TestContainerParts(t *testing.T) {
	const mib = 1 << 20
	c := model.Container{End: 400 * mib}
	if got := ContainerParts(&c); got != "" {
		t.Errorf("not read: %q", got)
	}
	c.Parts = &model.ContainerParts{Anon: 200 * mib, File: 150 * mib, Shmem: mib, Kernel: 40 * mib}
	const want = "200.00 MiB anonymous, 40.00 MiB of Linux itself, 150.00 MiB page cache, which Linux can drop"
	if got := ContainerParts(&c); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
