package report

import "ipytracer/model"

type tabledRefusal struct {
	model.Refusal
	Stack    int             `json:"stack,omitempty"`
	Dividers []tabledDivider `json:"dividers,omitempty"`
}

type tabledDivider struct {
	model.Divider
	Stack int `json:"stack"`
}

func (t *tables) refused(all []model.Refusal) (out []tabledRefusal) {
	for _, r := range all {
		one := tabledRefusal{Refusal: r, Stack: t.stack(r.Stack, false)}
		for _, d := range r.Dividers {
			one.Dividers = append(one.Dividers, tabledDivider{d, t.stack(d.Stack, false)})
		}
		out = append(out, one)
	}
	return out
}

func (r *read) refused(all []tabledRefusal) (out []model.Refusal) {
	for _, one := range all {
		if one.Stack != 0 {
			one.Refusal.Stack, _ = r.stack(one.Stack)
		}
		for _, d := range one.Dividers {
			d.Divider.Stack, _ = r.stack(d.Stack)
			one.Refusal.Dividers = append(one.Refusal.Dividers, d.Divider)
		}
		out = append(out, one.Refusal)
	}
	return out
}
