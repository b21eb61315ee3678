"""Where Triton's programs look for `sectile.backends.compiler.GPUTarget`."""
