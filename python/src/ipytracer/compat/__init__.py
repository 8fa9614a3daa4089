"""The calls of older tools, on the figures of the attached tracer: change the import, keep the notebook.

    from ipytracer.compat.ipyexperiments import IPyExperimentsCPU, IPyExperimentsPytorch
    from ipytracer.compat.pytorch_memlab import LineProfiler, MemReporter, Courtesy, profile, profile_every
    from ipytracer.compat.fastai_mem import GPUMemTrace, gpu_mem_get, gpu_mem_restore
    from ipytracer.compat.memwatcher import MemWatcher
    %load_ext ipytracer.compat.ipython_memory_usage

Names, arguments, units and meanings are the originals'; docs/migrate.md lists the differences. Nothing here samples:
every figure is the tracer's, and None or nan where no tracer listens.
"""
