package words

import (
	"fmt"

	"ipytracer/model"
)

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

// GraphRetained says that a graph lives longer than its backward pass.
func GraphRetained() string {
	return "retain_graph=True keeps the graph of a round while the next one is made, and each has one backward pass: " +
		"leave it out"
}

// GraphGoneThen says what is different.
func GraphGoneThen() string {
	return "values stay the same; a second backward pass through the same graph would end with an error"
}

// BackwardNeeds says what is not known of a backward pass.
func BackwardNeeds() string {
	return "a backward pass needs memory of its own: how high it goes then is not known"
}

// ActivationsKept says that the activations of equal blocks could be computed again.
func ActivationsKept(block string) string {
	return fmt.Sprintf("the activations inside of each %s live until backward comes to it: "+
		"checkpoint computes them again",
		Quoted(block))
}

// ComputedAgain says what checkpointing costs.
func ComputedAgain() string {
	return "values stay the same; the forward pass of the blocks is computed twice, so a step takes longer"
}

// RandomAgain says what checkpointing does to modules with a state.
func RandomAgain() string {
	return "dropout draws the same numbers both times; batch normalization updates its running statistics twice"
}

// StepCopies says that an optimizer makes copies of all parameters.
func StepCopies(name string) string {
	return fmt.Sprintf("%s makes temporary copies of all parameters at each step: "+
		"foreach=False takes one after another",
		Quoted(name))
}

// StepOneByOne says what is different.
func StepOneByOne() string {
	return "results stay the same up to rounding; a step is slower where there are many small parameters"
}

// OtherPeaksOfLoop says that one statement has one known moment.
func OtherPeaksOfLoop() string {
	return "of a loop only the highest moment is known: how high it goes at others is estimated"
}

// GradientsOfZeros says that gradients are filled with zeros, and not let go of.
func GradientsOfZeros(name string) string {
	return fmt.Sprintf("%s.zero_grad() fills the gradients with zeros, so they live through the forward pass: "+
		"set_to_none=True lets go of them", Quoted(name))
}

// NoneThen says what is different.
func NoneThen() string {
	return "a gradient is None until the next backward pass, and a parameter without one is left out of the step, " +
		"also by momentum and weight decay"
}

// NetworkOfDoubles says that a network is float64.
func NetworkOfDoubles() string { return "the network computes in float64: float32 takes half" }

// Float32Rounds says what is different.
func Float32Rounds() string {
	return "results differ: float32 has 7 digits, where float64 has 16"
}

// NeedsOfFloat64 says what is not known.
func NeedsOfFloat64() string {
	return "whether the task needs the digits of float64 is not known, and which other tensors become float32"
}

// BatchSlope says what each sample of a batch needs, from two measured sizes.
func BatchSlope(each, low, high int64) string {
	return fmt.Sprintf("each sample of a batch takes %s, by the batches of %d and %d that were measured: use %d",
		Bytes(each), low, high, low)
}

// OtherSteps says what is different.
func OtherSteps() string {
	return "training takes more and smaller steps, so its result differs; " +
		"what only predicts gives the same up to rounding"
}

// StraightLine says what is assumed.
func StraightLine() string {
	return "sizes between those that were measured are assumed to lie on a straight line"
}

// CacheInPieces says that PyTorch's cache has memory that no tensor uses.
func CacheInPieces() string {
	return "PyTorch's cache holds memory between tensors that no tensor used at the peak: let its segments grow instead"
}

// CacheRefused says that PyTorch refused a request although its cache had as much.
func CacheRefused(asked, idle int64) string {
	return fmt.Sprintf("PyTorch refused %s although its cache had %s between tensors: let its segments grow instead, "+
		"so that it is in one piece", Bytes(asked), Bytes(idle))
}

// Divides says that the block of a name keeps free memory of PyTorch's cache apart.
func Divides(name string, block, whole, asked int64, made, refused *model.PlanPlace) string {
	return fmt.Sprintf("%s, %s of %s, lies between free memory of PyTorch's cache, and nothing uses it any more: "+
		"delete it, and all of that is one piece of %s for the %s that PyTorch refused in %s", name, Bytes(block),
		PlaceName(made), Bytes(whole), Bytes(asked), PlaceName(refused))
}

// RequestServed says what is different where a request is not refused.
func RequestServed() string {
	return "the request is served, so the code behind it runs, and code that handled its error does not"
}

// StreamUnknown says that streams are not recorded.
func StreamUnknown() string {
	return "PyTorch gives free memory only to the CUDA stream that had it, and no recording has streams"
}

// OtherRequests says that a statement allocates more than the request that was refused.
func OtherRequests() string {
	return "the statement asks for other memory, too: some of it may take a part of that piece"
}

// SegmentsGrow says what is different.
func SegmentsGrow() string {
	return "values stay the same; memory of such segments cannot be shared with other processes"
}

// OnlyBeforeCUDA says when the setting counts.
func OnlyBeforeCUDA() string {
	return "the setting counts only in front of the first use of the GPU; how much it saves has to be tried"
}

// ResultsOnGPU says that a loop keeps results on the GPU.
func ResultsOnGPU(name string) string {
	return fmt.Sprintf("%s keeps each result on the GPU, and all code behind the loop wants them on the CPU: "+
		"take each there at once", Quoted(name))
}

// ResultsOnCPU says what is different.
func ResultsOnCPU(name string) string {
	return fmt.Sprintf("values stay the same; those in %s are on the CPU", Quoted(name))
}

// CopiesWait says what such copies cost.
func CopiesWait() string {
	return "each round waits for its copy: how much longer the loop takes is not known"
}

// PinnedStays says that locked memory outlives its tensors.
func PinnedStays() string {
	return "PyTorch keeps the memory that was locked for copies, also when its tensors are gone: copy without it"
}

// CopiesFromPages says what is different.
func CopiesFromPages() string {
	return "values stay the same; copies to the GPU take longer, and non_blocking=True has no effect on them"
}
