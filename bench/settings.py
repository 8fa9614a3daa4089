"""The settings of a run."""

import dataclasses
import os
import sys


@dataclasses.dataclass(frozen=True)
class Settings:
    tracer: str
    quick: bool = False
    seeds: str = None
    pythons: str = "/var/tmp/ipytracer-pythons"
    notebooks: tuple = ()    # of testdata/notebooks; all where there are none
    path: tuple = ()         # folders that the kernels of notebooks import from first
    pairs: int = 0           # number of pairs of each measurement; 0: its usual number

    def rounds(self, full, quick):
        return self.pairs or (quick if self.quick else full)

    def progress(self, what):
        """Returns a function for interleave() that shows the progress on standard error."""
        def say(done, of):
            if sys.stderr.isatty():
                print(f"\r{what}: {done} of {of}", end="\n" if done == of else "", file=sys.stderr, flush=True)
            elif done == of:
                print(f"{what}: done", file=sys.stderr, flush=True)
        return say

    def other_root(self, tree="trixie"):
        """Returns a root that scripts/pythons.sh builds, or None: trixie has memray, torch PyTorch for CUDA."""
        root = os.path.join(self.pythons, tree)
        return root if os.path.exists(os.path.join(root, ".complete")) else None
