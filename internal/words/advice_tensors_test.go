package words

import (
	"testing"

	"ipytracer/model"
)

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
		{GraphRetained(),
			"retain_graph=True keeps the graph of a round while the next one is made, and each has one " +
				"backward pass: leave it out"},
		{GraphGoneThen(),
			"values stay the same; a second backward pass through the same graph would end with an error"},
		{BackwardNeeds(), "a backward pass needs memory of its own: how high it goes then is not known"},
		{ActivationsKept("block"),
			"the activations inside of each block live until backward comes to it: checkpoint computes them " +
				"again"},
		{ComputedAgain(),
			"values stay the same; the forward pass of the blocks is computed twice, so a step takes longer"},
		{RandomAgain(),
			"dropout draws the same numbers both times; batch normalization updates its running statistics " +
				"twice"},
	})
}

func TestAdviceOptimizers(t *testing.T) {
	says(t, []said{
		{StepCopies("opt"),
			"opt makes temporary copies of all parameters at each step: foreach=False takes one after another"},
		{StepOneByOne(),
			"results stay the same up to rounding; a step is slower where there are many small parameters"},
		{OtherPeaksOfLoop(), "of a loop only the highest moment is known: how high it goes at others is estimated"},
		{GradientsOfZeros("opt"),
			"opt.zero_grad() fills the gradients with zeros, so they live through the forward pass: " +
				"set_to_none=True lets go of them"},
		{NoneThen(),
			"a gradient is None until the next backward pass, and a parameter without one is left out of the " +
				"step, also by momentum and weight decay"},
		{NetworkOfDoubles(), "the network computes in float64: float32 takes half"},
		{Float32Rounds(), "results differ: float32 has 7 digits, where float64 has 16"},
		{NeedsOfFloat64(),
			"whether the task needs the digits of float64 is not known, and which other tensors become " +
				"float32"},
		{BatchSlope(3<<20, 64, 256),
			"each sample of a batch takes 3.00 MiB, by the batches of 64 and 256 that were measured: use 64"},
		{OtherSteps(),
			"training takes more and smaller steps, so its result differs; what only predicts gives the same " +
				"up to rounding"},
		{StraightLine(), "sizes between those that were measured are assumed to lie on a straight line"},
		{Divides("mask", 20<<20, 520<<20, 400<<20, &model.PlanPlace{Execution: 2, Line: 1},
			&model.PlanPlace{Execution: 3, Line: 4}),
			"mask, 20.00 MiB of a cell (run 2) line 1, lies between free memory of PyTorch's cache, and nothing uses " +
				"it any more: delete it, and all of that is one piece of 520.00 MiB for the 400.00 MiB that " +
				"PyTorch refused in a cell (run 3) line 4"},
		{RequestServed(),
			"the request is served, so the code behind it runs, and code that handled its error does not"},
		{StreamUnknown(),
			"PyTorch gives free memory only to the CUDA stream that had it, and no recording has streams"},
		{OtherRequests(), "the statement asks for other memory, too: some of it may take a part of that piece"},
		{CacheRefused(96<<20, 128<<20), "PyTorch refused 96.00 MiB although its cache had 128.00 MiB between tensors" +
			": let its segments grow instead, so that it is in one piece"},
		{CacheInPieces(),
			"PyTorch's cache holds memory between tensors that no tensor used at the peak: let its segments " +
				"grow instead"},
		{SegmentsGrow(), "values stay the same; memory of such segments cannot be shared with other processes"},
		{OnlyBeforeCUDA(),
			"the setting counts only in front of the first use of the GPU; how much it saves has to be tried"},
		{ResultsOnGPU("codes"), "codes keeps each result on the GPU, and all code behind the loop wants them on the " +
			"CPU: take each there at once"},
		{ResultsOnCPU("codes"), "values stay the same; those in codes are on the CPU"},
		{CopiesWait(), "each round waits for its copy: how much longer the loop takes is not known"},
		{PinnedStays(), "PyTorch keeps the memory that was locked for copies, also when its tensors are gone: copy " +
			"without it"},
		{CopiesFromPages(), "values stay the same; copies to the GPU take longer, and non_blocking=True has no " +
			"effect on them"},
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
