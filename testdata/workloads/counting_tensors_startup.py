"""A start-up file of IPython's (PYTHONSTARTUP): once PyTorch is imported, the kernel counts small tensors itself, in
the page of the tracer that listens."""

get_ipython().run_line_magic("load_ext", "ipytracer")  # noqa: F821
from ipytracer._counts_torch import TENSORS  # noqa: E402

TENSORS.begin()
del TENSORS
