package words

import "testing"

func TestAdviceTensors(t *testing.T) {
	says(t, []said{
		{TensorsInTheHeap(),
			"tensors below 32 MiB lie in the C library's heap, which may stay resident when they are gone: " +
				"the resident memory may fall by less, or by more"},
		{GradientsOn("torch"),
			"nothing goes backward from here, but the activations are kept for it: use torch.no_grad()"},
		{NoGraphThen(), "values stay the same; the tensors made here do not require gradients any more"},
		{StepsOfForward(),
			"a step of the network is assumed to need three of its largest tensors at once, or two in " +
				"nn.Sequential"},
		{GraphsKept("total"), "total keeps the graph of each round with its tensors: keep the value without it"},
		{DetachedThen(), "values stay the same; what is kept has no grad_fn any more, so backward() from it fails"},
	})
}

type said struct{ got, want string }

func says(t *testing.T, all []said) {
	t.Helper()
	for _, of := range all {
		if of.got != of.want {
			t.Errorf("it says %q, want %q", of.got, of.want)
		}
	}
}
