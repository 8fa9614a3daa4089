package words

// ofDocuments are the words of audits, comparisons, advice, plans, trials and merges that reports do not have.
var ofDocuments = []Term{
	// audits
	{
		names("verdict", "verdicts"), "audit.md#verdicts",
		"Memory that stayed behind, and the reason that the objects show.",
	},
	{names("edit"), "audit.md#verdicts", "The cell or line to change, so that the memory does not stay behind."},
	{names("since", "count"), "audit.md", "In which cells, and how many times, what is still there was made."},
	{
		names("at most", "bytes at most"), "meters.md#exact-bound-unknown",
		"It is not more than this; how much less is not known.",
	},
	{names("doubt", "doubts"), "meters.md#exact-bound-unknown", "A reason why a figure may be off."},

	// comparisons
	{names("A", "B", "A → B"), "howto/compare-two-runs.md", "The first and the second recording that are compared."},
	{names("change"), "howto/compare-two-runs.md", "The second recording's figure less the first's."},
	{
		names("cause", "and"), "howto/compare-two-runs.md",
		"A cell that needs or keeps another amount than it did, and what changed in it.",
	},
	{
		names("so", "in"), "howto/compare-two-runs.md",
		"A cell that changed because it reads a name of a changed cell; or the cell that a line ran in.",
	},
	{names("over"), "howto/compare-two-runs.md#in-ci", "A figure above the limit that was asked for."},
	{
		names("perhaps"), "howto/compare-two-runs.md#in-ci",
		"A figure that may be above the limit: its bound reaches over it.",
	},

	// advice and trials
	{names("advice"), "advice.md", "A change of a line that would lower the highest moment of the session."},
	{
		names("saves", "gain"), "advice.md#the-list",
		"By how much the highest moment falls: of advice as computed, of a trial as measured.",
	},
	{
		names("accuracy"), "advice.md#the-list",
		"Exact: the blocks lived at the highest moment and nothing else holds them. Bound is at least so much, " +
			"and a guess has to be tried.",
	},
	{
		names("then"), "advice.md#the-list",
		"The place that is highest once a change is made, or the next highest, and the memory there.",
	},
	{names("effect"), "advice.md#the-list", "What the change may do to the notebook's results."},
	{names("unknown", "fact"), "advice.md#the-list", "What the session does not show, and the change rests on."},
	{names("about it"), "advice.md#the-list", "What to know of the change before it is made."},
	{names("notebook"), "try.md", "The notebook that ran as it is and changed."},
	{
		names("results", "differs"), "try.md#what-is-compared",
		"Whether the changed notebook's results are those of the notebook as it is, and which are not.",
	},
	{names("tolerated"), "try.md#what-is-compared", "A difference of results that was allowed."},
	{names("changed"), "try.md", "The notebook with the change; as a column: its figure."},
	{names("counted"), "meters.md", "How often something happened: a probe's hits, a window's events."},

	// plans
	{
		names("needs"), "howto/size-a-container.md#the-figures",
		"The memory that a container must have: the highest moment and the margin.",
	},
	{
		names("margin"), "howto/size-a-container.md#the-figures",
		"What is added to the highest moment, part by part, since another run differs.",
	},
	{
		names("spread"), "howto/size-a-container.md#the-figures",
		"How far the recordings differ; the highest of them decides.",
	},
	{names("in it"), "howto/size-a-container.md#the-figures", "A part of the highest moment."},
	{names("decided by"), "howto/size-a-container.md#the-figures", "The cell and line with the highest moment."},
	{names("tried"), "try.md#in-a-plan", "What it needs with a change that was run, with the same results."},
	{
		names("there at most"), "howto/size-a-container.md#the-figures",
		"Of what the line mapped, the most that can have been resident at the highest moment.",
	},
	{
		names("together", "lower without it"), "howto/size-a-container.md#the-figures",
		"By how much the highest moment falls without the line, or without several lines at once.",
	},
	{
		names("smaller"), "howto/size-a-container.md#the-figures",
		"Whether the notebook fits in the next smaller size without those lines.",
	},

	// merges
	{names("node", "recording", "kernels"), "merge.md", "A machine, its recording, and the kernels traced there."},
	{names("at once"), "merge.md#at-once", "The most that all nodes had at the same instant, between two bounds."},
	{names("of these"), "merge.md#at-once", "The parts of that instant, by node."},
	{names("clock error"), "merge.md#clocks", "By how much the node's clock can be off against the others'."},
	{names("at", "took"), "merge.md", "When the cell began on the common timeline, and how long it took."},
}
