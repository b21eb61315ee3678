"""What programs written for Triton import from ``triton.tools``."""
