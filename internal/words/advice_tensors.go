package words

import "fmt"

// TensorsInTheHeap says why resident memory may fall by another amount.
func TensorsInTheHeap() string {
	return "tensors below 32 MiB lie in the C library's heap, which may stay resident when they are gone: " +
		"the resident memory may fall by less, or by more"
}

// GradientsOn says that a network is evaluated with gradients on.
func GradientsOn(torch string) string {
	return fmt.Sprintf("nothing goes backward from here, but the activations are kept for it: use %s.no_grad()", torch)
}

// NoGraphThen says what is different without gradients.
func NoGraphThen() string {
	return "values stay the same; the tensors made here do not require gradients any more"
}

// StepsOfForward says what is assumed about a forward pass.
func StepsOfForward() string {
	return "a step of the network is assumed to need three of its largest tensors at once, or two in nn.Sequential"
}

// GraphsKept says that a name keeps the graph of each round of a loop.
func GraphsKept(name string) string {
	return fmt.Sprintf("%s keeps the graph of each round with its tensors: keep the value without it", Quoted(name))
}

// DetachedThen says what is different.
func DetachedThen() string {
	return "values stay the same; what is kept has no grad_fn any more, so backward() from it fails"
}
