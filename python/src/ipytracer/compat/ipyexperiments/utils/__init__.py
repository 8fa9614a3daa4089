"""Helpers of ipyexperiments."""
