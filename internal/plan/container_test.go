package plan_test

import (
	"testing"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// TestPlanOfAContainer: the margin has what a container had beyond the processes and page cache, if it had a limit and
// that is more than the rule of thumb.
func TestPlanOfAContainer(t *testing.T) {
	for name, tt := range map[string]struct {
		container *model.Container
		want      model.PlanPart
	}{
		"none": {nil, model.PlanPart{Bytes: 400*mib/256 + 32*mib, Of: words.MarginKernel}},
		"a server and Linux's own memory": {
			&model.Container{AtLeast: 900 * mib, Limit: 1024 * mib, Parts: &model.ContainerParts{File: 300 * mib}},
			model.PlanPart{Bytes: 230 * mib, Of: words.MarginContainer},
		},
		"without a limit": {
			&model.Container{AtLeast: 900 * mib, Parts: &model.ContainerParts{File: 300 * mib}},
			model.PlanPart{Bytes: 400*mib/256 + 32*mib, Of: words.MarginKernel},
		},
		"parts that were not read": {
			&model.Container{AtLeast: 900 * mib, Limit: 1024 * mib},
			model.PlanPart{Bytes: 400*mib/256 + 32*mib, Of: words.MarginKernel},
		},
		"hardly more": {
			&model.Container{AtLeast: 500 * mib, Limit: 1024 * mib, Parts: &model.ContainerParts{File: 120 * mib}},
			model.PlanPart{Bytes: 400*mib/256 + 32*mib, Of: words.MarginKernel},
		},
	} {
		t.Run(name, func(t *testing.T) {
			windows := cell(1, "x = 1", exact(100, 400, 100))
			windows[0].Container = tt.container
			windows[0].Meters["cpu.resident.anon"] = exact(0, 350, 0)
			windows[0].Meters["cpu.resident.shmem"] = exact(0, 20, 0)
			_, d := make1(notebook(400, windows...))
			for _, m := range d.Margin {
				if m == tt.want {
					return
				}
			}
			t.Errorf("%+v, want %+v", d.Margin, tt.want)
		})
	}
}
